-- session.lua - Works with tirc's language server as a user of Neovim does, and writes what it sees
-- to a file as JSON: nvim --headless -u NONE -c "luafile session.lua". In the environment: SERVER,
-- FOLDER (with matmul.tir and tiled.sched), RESULT.

local folder, seen = os.getenv("FOLDER"), {}

local function wait(what, condition)
    if not vim.wait(20000, condition, 5) then error("no " .. what) end
end

local function open(name)
    vim.cmd("edit " .. folder .. "/" .. name)
    local client = vim.lsp.start_client({ name = "tirc", cmd = { os.getenv("SERVER"), "lsp" }, root_dir = folder })
    vim.lsp.buf_attach_client(0, client)
    wait("server", function() return vim.lsp.buf_get_clients(0)[client] ~= nil end)
    return vim.api.nvim_get_current_buf(), client
end

local function request(buffer, method, params)
    params.textDocument = vim.lsp.util.make_text_document_params(buffer)
    local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000)
    for _, answer in pairs(answers or {}) do
        if answer.error then error(method .. ": " .. answer.error.message) end
        return answer.result
    end
    error("no answer to " .. method)
end

local function at(line, word)
    local text = vim.api.nvim_buf_get_lines(0, line - 1, line, true)[1]
    return { line = line - 1, character = text:find(word, 1, true) - 1 }
end

local function replace_line(line, text)
    vim.api.nvim_buf_set_lines(0, line - 1, line, true, { text })
end

local function errors() return vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) end

local function session()
    -- The program: a mistake, its error, the remedy, no error.
    local program, client = open("matmul.tir")
    local good = vim.api.nvim_buf_get_lines(0, 5, 6, true)[1]
    replace_line(6, (good:gsub("B%[k, j%]", "sqrrt(B[k, j])")))
    wait("error", function() return #errors() == 1 end)
    local e = errors()[1]
    seen.error = { e.lnum, e.col, e.end_col, e.message }
    local range = { start = { line = e.lnum, character = e.col }, ["end"] = { line = e.end_lnum, character = e.end_col } }
    local actions = request(program, "textDocument/codeAction", { range = range, context = { diagnostics = {} } })
    seen.action = actions[1].title
    vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
    wait("no error", function() return #errors() == 0 end)
    seen.mended = vim.api.nvim_buf_get_lines(0, 5, 6, true)[1]

    replace_line(6, good)
    seen.hover = request(program, "textDocument/hover", { position = at(6, "A[") }).contents.value
    seen.loop = request(program, "textDocument/hover", { position = at(6, "k]") }).contents.value
    local names = {}
    for _, item in ipairs(request(program, "textDocument/completion", { position = at(6, "C[") }).items) do
        names[item.label] = true
    end
    seen.completes = { names.C, names.k, names.f32, names.split or false }
    local symbols = request(program, "textDocument/documentSymbol", {})
    seen.symbols = { symbols[1].name, #symbols[1].children }

    -- The schedule: the program after a step, definitions elsewhere, and names in both files.
    local schedule = open("tiled.sched")
    wait("look", function() return #vim.lsp.buf_get_clients(0) > 0 end)
    seen.after = request(schedule, "tirc/programAfter", { position = { line = 3, character = 4 } })
    seen.manual = request(schedule, "textDocument/hover", { position = at(4, "split") }).contents.value
    seen.definition = request(schedule, "textDocument/definition", { position = at(6, "A,") })
    seen.library = request(schedule, "textDocument/definition", { position = at(6, "stage") })
    seen.references = #request(schedule, "textDocument/references", { position = at(6, "A,"), context = { includeDeclaration = true } })
    local items = {}
    for _, item in ipairs(request(schedule, "textDocument/completion", { position = at(4, "split") }).items) do
        items[item.label] = item.documentation and item.documentation.value or true
    end
    seen.primitives = { items.split, items.C, items["blockIdx.x"], items.stage }
    local renamed = request(schedule, "textDocument/rename", { position = at(6, "A,"), newName = "left" })
    vim.lsp.util.apply_workspace_edit(renamed, "utf-16")
    seen.renamed = {
        vim.api.nvim_buf_get_lines(program, 0, 1, true)[1],
        vim.api.nvim_buf_get_lines(schedule, 5, 6, true)[1],
    }
    replace_line(4, "  let [ i,j,k ]=loops(C) ;")
    vim.lsp.buf.formatting_sync({}, 20000)
    seen.formatted = vim.api.nvim_buf_get_lines(0, 3, 4, true)[1]

    -- The protocol counts UTF-16 units, of which a character of the comment has two; Neovim shows
    -- columns in bytes.
    replace_line(4, "    /* \u{1F600} \u{2264} */ let [i, j, k] = loop(C);")
    wait("error there", function() return #errors() == 1 and errors()[1].lnum == 3 end)
    seen.units = { errors()[1].lnum, errors()[1].user_data.lsp.code, errors()[1].col }
    vim.lsp.stop_client(client)
end

local ok, problem = pcall(session)
if not ok then seen.problem = tostring(problem) end
local out = io.open(os.getenv("RESULT"), "w")
out:write(vim.json.encode(seen))
out:close()
vim.cmd("qall!")
