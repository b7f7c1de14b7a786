// page.js - draws the report from the JSON in the page: the bottleneck, the lanes of each access, the origins of lines, the loops after each step.
'use strict';
(function () {
    const data = JSON.parse(document.getElementById('data').textContent);
    const analysis = data.analyze, LANES = 32, BANKS = 32, SECTOR = 32, LINE = 128;

    // ---- elements ------------------------------------------------------------------------------------------------

    function el(tag, attributes, ...children) {
        const node = document.createElement(tag);
        for (const [key, value] of Object.entries(attributes || {})) {
            if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
            else if (value !== false && value !== undefined && value !== null) node.setAttribute(key, value === true ? '' : value);
        }
        node.append(...children.filter((c) => c !== null && c !== undefined));
        return node;
    }
    function svg(tag, attributes, ...children) {
        const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
        for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
        node.append(...children);
        return node;
    }
    const body = (id) => document.querySelector('#' + id + ' .body');
    const clear = (node) => { node.replaceChildren(); return node; };

    // ---- numbers -------------------------------------------------------------------------------------------------

    function short(value, unit) {
        const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
        let prefix = 0;
        while (Math.abs(value) >= 999.5 && prefix < 5) { value /= 1000; prefix++; }
        return Number(value.toPrecision(3)) + ' ' + prefixes[prefix] + unit;
    }
    const plain = (value) => Number.isInteger(value) ? value.toLocaleString('en') : value.toFixed(2);
    const time = (ms) => ms === null ? '?' : ms === 0 ? '0' : ms >= 1 ? Number(ms.toPrecision(4)) + ' ms'
        : ms < 1e-4 ? Number((ms * 1e6).toPrecision(3)) + ' ns' : (ms * 1000).toFixed(3) + ' µs';
    const plural = (n, word) => plain(n) + ' ' + word + (n === 1 ? '' : 's');
    const costs = { global: ['sector', 'sectors_per_request'], shared: ['wavefront', 'wavefronts_per_request'], constant: ['word', 'passes_per_request'] };
    const unit = (a) => costs[a.scope][0], cost = (a) => a[costs[a.scope][1]];
    const baseName = (path) => path ? path.split('/').pop() : '';

    // ---- the head ------------------------------------------------------------------------------------------------

    function drawHead() {
        const binds = analysis.limits.find((l) => l.binds), kernel = analysis.kernels[0];
        const bad = data.accesses.filter((a) => a.verdict).length;
        const tile = (big, small) => el('div', { class: 'tile' }, el('b', {}, big), el('span', {}, small));
        const sizes = Object.entries(data.sizes || {}).map(([k, v]) => k + ' = ' + v).join(', ');
        document.getElementById('head').append(
            el('div', {}, el('h1', {}, data.kernel + ' ', el('small', {}, data.schedule ? 'schedule ' + data.schedule : '')),
                el('p', { class: 'soft' }, (sizes ? sizes + '. ' : '') + 'For ' + analysis.profile + ', ' + (analysis.exact
                    ? 'all ' + plural(analysis.blocks, 'block') + ' counted.'
                    : 'from ' + plain(analysis.counted_blocks) + ' of ' + plural(analysis.blocks, 'block') + ', which stand for all.'))),
            el('button', { onclick: switchTheme, 'aria-label': 'light or dark' }, 'Light / dark'),
            el('div', { class: 'tiles' },
                binds ? tile(time(binds.ms), 'at least, bound by ' + binds.name) : tile('?', 'the profile knows no rates'),
                kernel && kernel.occupancy ? tile(Math.round(100 * kernel.occupancy) + ' %', 'of the threads resident; ' +
                    kernel.limited_by + ' bind' + (/[sm]$/.test(kernel.limited_by) && kernel.limited_by !== 'shared memory' ? '' : 's')) : null,
                tile(String(bad), (bad === 1 ? 'access costs' : 'accesses cost') + ' more than ' + (bad === 1 ? 'it' : 'they') + ' must'),
                tile(short(analysis.bytes_beyond_l1, 'B'), 'pass the first-level cache; the parameters have ' +
                    short(analysis.bytes_least, 'B'))));
    }
    function switchTheme() {
        const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
        root.dataset.theme = (root.dataset.theme || (dark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark';
    }
    function drawNav() {
        for (const section of document.querySelectorAll('main section:not([hidden])'))
            document.getElementById('nav').append(el('a', { href: '#' + section.id }, section.querySelector('h2').textContent));
    }

    // ---- bottleneck ----------------------------------------------------------------------------------------------

    function drawBars() {
        const most = Math.max(...analysis.limits.map((l) => l.ms || 0)) || 1, symbol = (u) => u === 'byte' ? 'B' : u;
        return el('div', {}, ...analysis.limits.map((l) => el('div', { class: 'bar-row' + (l.binds ? ' binds' : '') },
            el('span', {}, l.name), el('div', { class: 'bar' }, el('i', { style: 'width:' + 100 * (l.ms || 0) / most + '%' })),
            el('span', { class: 'number' }, time(l.ms)),
            el('small', {}, short(l.amount, symbol(l.unit)) + (l.rate ? ' at ' + short(l.rate, symbol(l.unit) + '/s')
                : '; the profile gives no rate')))),
            el('p', { class: 'note' }, 'The minimum time of each part of the GPU for its share of the work. The slowest part is the bottleneck: ' +
                'the kernel needs at least as long.'));
    }
    function drawIntensity() {
        const lines = [];
        if (analysis.bytes_per_flop) {
            lines.push(plain(Number(analysis.bytes_per_flop.toPrecision(3))) + ' bytes accessed per floating-point operation' +
                (analysis.uncached_gflops ? ': without caches ' + plain(analysis.dram_gbps) + ' GB/s would allow ' +
                    Math.round(analysis.uncached_gflops).toLocaleString('en') + ' GFLOP/s.' : '.'));
        }
        if (analysis.output_elements) {
            const parts = ['loads', 'stores', 'atomics'].filter((k) => analysis[k]).map((k) => {
                const each = analysis[k] / analysis.output_elements;
                return (Number.isInteger(each) ? each : each.toFixed(2)) + ' ' + (each === 1 ? k.slice(0, -1) : k);
            });
            lines.push('Each output element takes ' + parts.join(', ') + ' on global memory.');
        }
        return el('div', {}, ...lines.map((l) => el('p', { class: 'note' }, l)));
    }
    const narrow = matchMedia('(max-width: 820px)');
    function drawRoofline() {
        const flops = analysis.f32_flops + analysis.f64_flops;
        const W = narrow.matches ? 390 : 560, H = narrow.matches ? 300 : 330, left = 62, right = 18, top = 18, bottom = 44;
        const dram = analysis.limits[1].rate, l2 = analysis.limits[2].rate, peak = analysis.peak_gflops * 1e9;
        if (!dram || !peak) return el('p', { class: 'note' }, 'The profile lacks a bandwidth or a peak, so there is no roofline.');
        const worst = Math.max(...analysis.limits.map((l) => l.ms || 0)), reached = worst ? flops / worst * 1000 : 0;
        const points = [[analysis.limits[1], 'device memory'], [analysis.limits[2], 'second-level cache']]
            .map(([l, name]) => ({ name, x: flops / (l.amount || 1) }));
        const ridge = peak / dram, xs = [ridge / 300, ridge * 30, ...points.filter((p) => p.x > 0).flatMap((p) => [p.x / 3, p.x * 3])];
        const x0 = Math.log10(Math.min(...xs)), x1 = Math.log10(Math.max(...xs)), y1 = Math.log10(peak * 3);
        const y0 = Math.min(Math.log10(dram) + x0, reached ? Math.log10(reached) - 0.4 : Infinity);
        const X = (v) => left + (Math.log10(v) - x0) / (x1 - x0) * (W - left - right);
        const Y = (v) => H - bottom - (Math.log10(v) - y0) / (y1 - y0) * (H - top - bottom);
        const chart = svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': 'roofline', id: 'roofline', width: '100%' });
        for (let e = Math.ceil(x0); e <= x1; e++) chart.append(
            svg('line', { x1: X(10 ** e), x2: X(10 ** e), y1: top, y2: H - bottom, class: 'axis' }),
            svg('text', { x: X(10 ** e), y: H - bottom + 16, 'font-size': 11, 'text-anchor': 'middle', class: 'soft' }, e < 0 ? (10 ** e).toFixed(-e) : String(10 ** e)));
        for (let e = Math.ceil(y0); e <= y1; e++) chart.append(
            svg('line', { x1: left, x2: W - right, y1: Y(10 ** e), y2: Y(10 ** e), class: 'axis' }),
            svg('text', { x: left - 8, y: Y(10 ** e) + 4, 'font-size': 11, 'text-anchor': 'end', class: 'soft' }, short(10 ** e, '')));
        const roof = (rate, color, name, side) => {
            const end = 10 ** x1, knee = Math.min(peak / rate, end), from = Math.max(10 ** x0, 10 ** y0 / rate);
            chart.append(svg('path', { d: `M${X(from)} ${Y(rate * from)} L${X(knee)} ${Y(peak)} L${X(end)} ${Y(peak)}`, fill: 'none', stroke: color,
                'stroke-width': 2, 'stroke-linejoin': 'round' }));
            const at = Math.sqrt(from * knee), slope = -Math.atan2(Y(rate * from) - Y(peak), X(knee) - X(from)) * 180 / Math.PI;
            chart.append(svg('text', { transform: `translate(${X(at)} ${Y(rate * at)}) rotate(${slope}) translate(0 ${side < 0 ? -7 : 15})`, 'font-size': 11, 'text-anchor': 'middle',
                class: 'soft' }, name + ', ' + short(rate, 'B/s')));
        };
        if (l2) roof(l2, 'var(--soft)', 'second-level cache', -1);
        roof(dram, 'var(--accent)', 'device memory', l2 ? 1 : -1);
        chart.append(svg('text', { x: W - right, y: Y(peak) - 8, 'font-size': 11, 'text-anchor': 'end', class: 'soft' }, short(peak, 'flop/s')),
            svg('text', { x: (left + W - right) / 2, y: H - 8, 'font-size': 12, 'text-anchor': 'middle', class: 'soft' }, 'operations a byte'),
            svg('text', { transform: `translate(13 ${(H - bottom + top) / 2}) rotate(-90)`, 'font-size': 12, 'text-anchor': 'middle', class: 'soft' }, 'flop/s'));
        if (flops === 0) {
            chart.append(svg('circle', { cx: left, cy: H - bottom, r: 6, fill: 'var(--bad)', 'data-point': 'none' }),
                svg('text', { x: left + 12, y: H - bottom - 8, 'font-size': 12 }, data.kernel + ': no floating-point operations'));
            return chart;
        }
        const colors = ['var(--accent)', 'var(--soft)'];
        points.forEach((p, i) => {
            const y = Y(reached);
            chart.append(svg('line', { x1: X(p.x), x2: X(p.x), y1: y, y2: H - bottom, stroke: colors[i], 'stroke-dasharray': '3 4' }),
                svg('circle', { cx: X(p.x), cy: y, r: 6, fill: colors[i], stroke: 'var(--card)', 'stroke-width': 2, 'data-point': p.name }));
        });
        const ends = points.map((p) => X(p.x)), above = Y(reached) - 12 > top + 10 && Y(reached) - Y(peak) > 14;
        chart.append(svg('text', { x: Math.min(Math.max((ends[0] + ends[1]) / 2, left + 90), W - right - 90), y: Y(reached) + (above ? -12 : 20),
            'font-size': 12, 'font-weight': 600, 'text-anchor': 'middle' }, data.kernel + ': at most ' + short(reached, 'flop/s')));
        return chart;
    }

    // ---- lanes ---------------------------------------------------------------------------------------------------

    const laneColor = (lane) => `hsl(${lane * 360 / LANES} var(--lane-chroma) var(--lane-light))`;
    const lanesOf = (a) => a.worst.addresses.map((address, lane) => ({ lane, address })).filter((l) => l.address !== null);

    // A cell with the number of its first lane, and a title with all.
    function cell(x, y, w, h, lanes, title) {
        const group = svg('g', { class: 'cell' }, svg('title', {}, title));
        group.append(svg('rect', { x, y, width: w, height: h, rx: 2.5, ...(lanes.length ? { fill: laneColor(lanes[0]) } : { class: 'empty' }) }));
        if (lanes.length && w >= 14) group.append(svg('text', { x: x + w / 2, y: y + h / 2 + 3.5, class: 'cell-text' },
            lanes.length > 1 ? lanes[0] + '+' : String(lanes[0])));
        return group;
    }
    const laneList = (lanes) => (lanes.length === 1 ? 'lane ' : 'lanes ') + lanes.join(', ');

    // Shared memory: a column for each bank, with its distinct words on top of each other; groups that are served one after the other.
    function drawBanks(a) {
        const active = lanesOf(a), size = a.bytes, width = groupLanes(a), groups = [];
        for (let first = 0; first < LANES; first += width) {
            const words = new Map();
            for (const l of active.filter((l) => l.lane >= first && l.lane < first + width))
                for (let w = Math.floor(l.address / 4); w <= Math.floor((l.address + size - 1) / 4); w++)
                    words.set(w, [...(words.get(w) || []), l.lane]);
            if (words.size) groups.push({ first, words });
        }
        const box = 22, gap = 3, left = 4;
        return el('div', {}, ...groups.map((g) => {
            const stacks = Array.from({ length: BANKS }, () => []);
            for (const [word, lanes] of [...g.words].sort((p, q) => p[0] - q[0])) stacks[((word % BANKS) + BANKS) % BANKS].push({ word, lanes });
            const high = Math.max(...stacks.map((s) => s.length)), step = high > 12 ? 15 : box, H = high * (step + gap) + 22;
            const picture = svg('svg', { viewBox: `0 0 ${left * 2 + BANKS * (box + gap)} ${H}`, width: left * 2 + BANKS * (box + gap), role: 'img',
                class: 'banks', 'data-wavefronts': high, 'aria-label': 'lanes by bank' });
            stacks.forEach((stack, bank) => {
                const x = left + bank * (box + gap);
                if (!stack.length) picture.append(cell(x, H - 20 - step, box, step, [], 'bank ' + bank + ': idle'));
                stack.forEach((s, i) => picture.append(cell(x, H - 20 - (i + 1) * (step + gap) + gap, box, step, s.lanes,
                    'bank ' + bank + ', word ' + s.word + ': ' + laneList(s.lanes))));
                picture.append(svg('text', { x: x + box / 2, y: H - 5, 'font-size': 10, 'text-anchor': 'middle', class: 'soft' }, String(bank)));
            });
            return el('div', {}, groups.length > 1 ? el('p', { class: 'soft' }, 'lanes ' + g.first + ' to ' + (g.first + width - 1)) : null,
                el('div', { class: 'scroll' }, picture));
        }), el('p', { class: 'note' }, 'Columns are banks. A cell is a 4-byte word with the lane that accesses it (+: several lanes). The height of the ' +
            'highest column is the number of wavefronts' + (groups.length > 1 ? '; the wavefronts of the groups add up.' : '.')));
    }
    // How many lanes are served together (ir/target/memory_model.h).
    function groupLanes(a) {
        if (a.bytes <= 4) return LANES;
        const at = a.worst.addresses, same = (d) => at.every((x, i) => x === null || at[i ^ d] === null || x === at[i ^ d]);
        return 128 / a.bytes * (a.op === 'load' && (same(1) || same(2)) ? 2 : 1);
    }

    // Global memory: a row for each line of 128 bytes that is touched, in four sectors of eight words.
    function drawSectors(a) {
        const words = new Map(), sectors = new Set();
        for (const l of lanesOf(a))
            for (let byte = l.address; byte < l.address + a.bytes; byte++) {
                const w = Math.floor(byte / 4), lanes = words.get(w) || [];
                if (lanes[lanes.length - 1] !== l.lane) words.set(w, [...lanes, l.lane]);
                sectors.add(Math.floor(byte / SECTOR));
            }
        const lines = [...new Set([...sectors].map((s) => Math.floor(s * SECTOR / LINE)))].sort((p, q) => p - q);
        const box = 20, gap = 2, split = 8, left = 96, row = 23, W = left + 4 * (8 * (box + gap) + split), H = lines.length * row + 6;
        const picture = svg('svg', { viewBox: `0 0 ${W} ${H}`, width: W, role: 'img', class: 'sectors', 'data-sectors': sectors.size, 'aria-label': 'lanes by sector' });
        lines.forEach((line, i) => {
            const y = 4 + i * row;
            picture.append(svg('text', { x: left - 10, y: y + 14, 'font-size': 11, 'text-anchor': 'end', class: 'soft' }, 'byte ' + line * LINE));
            for (let s = 0; s < 4; s++) for (let w = 0; w < 8; w++) {
                const x = left + s * (8 * (box + gap) + split) + w * (box + gap), word = line * 32 + s * 8 + w, lanes = words.get(word) || [];
                const touched = sectors.has(line * 4 + s), c = cell(x, y, box, 19, lanes, 'byte ' + word * 4 + ': ' + (lanes.length ? laneList(lanes)
                    : touched ? 'moved, and not used' : 'not moved'));
                if (!touched) c.setAttribute('opacity', '.25');
                picture.append(c);
            }
        });
        return el('div', {}, el('div', { class: 'scroll' }, picture), el('p', { class: 'note' },
            'A row is a line of 128 bytes, in sectors of 32. A cell is a word with the lane that accesses it. Sectors are moved ' +
            'whole: ' + plural(sectors.size, 'sector') + ' for this request. Pale cells are moved, but not used.'));
    }

    // Constant memory: a cell for each word, in the order in which they are answered.
    function drawWords(a) {
        const words = new Map();
        for (const l of lanesOf(a)) words.set(Math.floor(l.address / 4), [...(words.get(Math.floor(l.address / 4)) || []), l.lane]);
        const box = 22, gap = 3, W = 8 + LANES * (box + gap);
        const picture = svg('svg', { viewBox: `0 0 ${W} 46`, width: W, role: 'img', class: 'words', 'data-words': words.size, 'aria-label': 'lanes by word' });
        [...words].forEach(([word, lanes], i) => picture.append(cell(4 + i * (box + gap), 4, box, box, lanes, 'word ' + word + ': ' + laneList(lanes)),
            svg('text', { x: 4 + i * (box + gap) + box / 2, y: 42, 'font-size': 10, 'text-anchor': 'middle', class: 'soft' }, String(word))));
        return el('div', {}, el('div', { class: 'scroll' }, picture), el('p', { class: 'note' }, 'A cell is a 4-byte word with the lane that reads it ' +
            '(+: several lanes). Constant memory serves one word at a time, to all lanes that read it.'));
    }

    // ---- accesses ------------------------------------------------------------------------------------------------

    function drawAccesses() {
        const table = el('table', { id: 'access-table' }, el('thead', {}, el('tr', {}, el('th', {}, 'Access'), el('th', { class: 'wide' }, 'Where'),
            el('th', { class: 'number wide' }, 'Bytes per lane'), el('th', { class: 'number' }, 'Requests'), el('th', { class: 'number' }, 'Each costs'),
            el('th', { class: 'number' }, 'Ideal'))));
        const rows = el('tbody', {}), picture = el('div', { class: 'lanes', id: 'lanes', 'aria-live': 'polite' });
        function choose(row, a) {
            for (const other of rows.children) other.classList.remove('chosen');
            row.classList.add('chosen');
            clear(picture).append(el('h3', {}, 'The costliest request: ' + a.op + ' ' + a.buffer + ', block ' + a.worst.block + ', warp ' + a.worst.warp),
                ({ global: drawSectors, shared: drawBanks, constant: drawWords })[a.scope](a));
        }
        data.accesses.forEach((a) => {
            const row = el('tr', { class: 'pick' + (a.verdict ? ' has-verdict' : ''), tabindex: 0, 'data-buffer': a.buffer, 'data-op': a.op },
                el('td', {}, a.op + ' ', el('code', {}, a.buffer), ' ', el('span', { class: 'chip' }, a.scope)),
                el('td', { class: 'soft wide' }, baseName(a.file) + ':' + a.line + (a.call ? ', ' + a.call.split('(')[0] : '')),
                el('td', { class: 'number wide' }, String(a.bytes)), el('td', { class: 'number' }, a.requests.toLocaleString('en')),
                el('td', { class: 'number' }, el('span', { class: 'chip ' + (a.verdict ? 'bad' : 'good') }, plural(cost(a), unit(a)))),
                el('td', { class: 'number' }, plain(a.ideal)));
            row.addEventListener('click', () => choose(row, a));
            row.addEventListener('keydown', (e) => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); choose(row, a); } });
            rows.append(row);
            if (a.verdict) rows.append(el('tr', { class: 'verdict' }, el('td', { colspan: 6 }, a.verdict)));
        });
        table.append(rows);
        body('accesses').append(el('div', { class: 'scroll' }, table), picture);
        const worst = Math.max(0, data.accesses.findIndex((a) => a.verdict));
        if (data.accesses.length) choose([...rows.children].filter((r) => r.classList.contains('pick'))[worst], data.accesses[worst]);
    }

    // ---- versus --------------------------------------------------------------------------------------------------

    function drawVersus() {
        const other = analysis.versus;
        if (!other) return;
        document.getElementById('versus').hidden = false;
        document.querySelector('#versus h2').textContent = 'Versus ' + other.schedule;
        let last = null;
        const rows = other.changes.map((c) => {
            const name = c.subject === last ? '' : c.subject;
            last = c.subject;
            return el('tr', {}, el('td', {}, name), el('td', { class: 'soft' }, c.counter), el('td', {}, c.first), el('td', {}, c.second));
        });
        body('versus').append(el('div', { class: 'scroll' }, el('table', { id: 'versus-table' }, el('thead', {}, el('tr', {}, el('th', {}, ''), el('th', {}, ''),
            el('th', {}, data.schedule || 'this'), el('th', {}, other.schedule))), el('tbody', {}, ...rows))),
            rows.length ? '' : el('p', {}, 'Nothing is different.'));
    }

    // ---- code ----------------------------------------------------------------------------------------------------

    const panes = new Map(); // path -> lines; the CUDA text has the path ''

    function pane(title, path, text) {
        const lines = text.replace(/\n$/, '').split('\n').map((content, i) => el('span', { class: 'line' }, el('i', {}, String(i + 1)), content));
        panes.set(path, lines);
        return el('div', { class: 'pane' + (path ? ' left' : ''), 'data-path': path }, el('h3', {}, title), el('pre', {}, ...lines));
    }
    const lineOf = (path, number) => path !== null && path !== undefined && panes.has(path) ? panes.get(path)[number - 1] : undefined;
    function light(chosen, from) {
        for (const lines of panes.values()) for (const line of lines) line.classList.remove('lit');
        const seen = new Set();
        for (const line of chosen.filter(Boolean)) {
            line.classList.add('lit');
            const view = line.parentElement;
            if (line !== from && !seen.has(view)) view.scrollTop = line.offsetTop - view.offsetTop - view.clientHeight / 3;
            seen.add(view);
        }
    }
    function drawCode() {
        const used = new Set(data.lines.flatMap((l) => [l.file, l.schedule_file]));
        const left = el('div', {}, ...data.sources.filter((s) => used.has(s.path)).map((s) => pane(s.path, s.path, s.text)));
        body('code').append(el('p', { class: 'note' }, 'Select a line to see its origin, or the lines that come from it.'),
            el('div', { class: 'panes' }, left, pane('CUDA', '', data.cuda)));
        const links = new Map(); // a line -> the lines that belong to it
        data.lines.forEach((origin) => {
            const own = [lineOf('', origin.cuda), lineOf(origin.file, origin.line), lineOf(origin.schedule_file, origin.schedule_line)].filter(Boolean);
            own.forEach((line, i) => {
                const more = i === 0 ? own : [own[0], line];
                links.set(line, [...(links.get(line) || []), ...more]);
            });
        });
        for (const [line, linked] of links) {
            line.classList.add('linked');
            line.addEventListener('click', () => light(linked, line));
        }
        const first = data.lines.find((l) => l.step && lineOf(l.schedule_file, l.schedule_line));
        if (first) light(links.get(lineOf('', first.cuda)), null);
    }

    // ---- steps ---------------------------------------------------------------------------------------------------

    // The tree of a .tir text, by its indentation; lines that only go on or close are part of the one before.
    function parseTree(text) {
        const root = { children: [], indent: -1 }, stack = [root];
        let open = null;
        for (const raw of text.split('\n')) {
            const line = raw.trim(), indent = raw.length - raw.trimStart().length;
            if (line === '{') open = null;
            if (!line || /^[{}]*$/.test(line)) continue;
            if (open && indent > open.indent && !/[{;]$/.test(open.line) && !/^for |^if |^block /.test(line) && !/^for |^if /.test(open.line)) {
                open.line += ' ' + line;
                continue;
            }
            if (/^kernel /.test(line)) { open = { line, indent, children: [] }; continue; }
            while (stack[stack.length - 1].indent >= indent) stack.pop();
            open = { line, indent, children: [] };
            stack[stack.length - 1].children.push(open);
            stack.push(open);
        }
        return root.children.map(unfold);
    }
    // `for i in M, j in N` is two loops.
    function unfold(node) {
        const children = node.children.map(unfold);
        if (!/^for /.test(node.line)) return { ...node, children };
        const loops = node.line.replace(/\s*\{$/, '').slice(4).split(/, (?=\w+ in )/);
        return loops.reduceRight((inner, loop) => [{ line: 'for ' + loop, children: inner }], children)[0];
    }
    function drawNode(node, before) {
        const text = node.line.replace(/\s*\{$/, ''), loop = text.match(/^for (\S+) in (.+?)(?: bind (\S+)| (unroll|vectorize|parallel))?$/);
        const block = text.match(/^block (\w+)/), fresh = before && !before.has(text), mark = fresh ? ' fresh' : '';
        const shown = loop ? el('span', { class: 'node loop' + mark }, loop[1] + ' in ' + loop[2], loop[3]
            ? el('span', { class: 'chip accent' }, loop[3]) : loop[4] ? el('span', { class: 'chip good' }, loop[4]) : null)
            : el('span', { class: 'node' + (block ? ' block' : '') + mark }, block ? block[1] + text.slice(6 + block[1].length) : text);
        return el('li', {}, shown, node.children.length ? el('ul', {}, ...node.children.map((c) => drawNode(c, before))) : null);
    }
    const linesOf = (nodes, set = new Set()) => { for (const n of nodes) { set.add(n.line.replace(/\s*\{$/, '')); linesOf(n.children, set); } return set; };
    function drawSteps() {
        const tree = el('div', { class: 'tree', id: 'tree' }), list = el('div', { class: 'step-list', id: 'step-list' });
        function choose(i) {
            [...list.children].forEach((b, j) => b.setAttribute('aria-current', String(i === j)));
            const nodes = parseTree(data.steps[i].text), before = i ? linesOf(parseTree(data.steps[i - 1].text)) : null;
            clear(tree).append(el('ul', {}, ...nodes.map((n) => drawNode(n, before))));
        }
        data.steps.forEach((s, i) => list.append(el('button', { onclick: () => choose(i) }, el('b', {}, String(i)), s.call)));
        body('steps').append(el('p', { class: 'note' }, 'Loops and statements that a step creates or changes are outlined.'), el('div', { class: 'stepper' }, list, tree));
        choose(Math.max(0, data.steps.length - 2)); // the last step of the schedule; lowering follows it
        const chosen = list.children[Math.max(0, data.steps.length - 2)];
        list.scrollTop = chosen.offsetTop - list.offsetTop - list.clientHeight / 2;
    }

    // ---- kernels -------------------------------------------------------------------------------------------------

    function drawKernels() {
        const columns = [['Kernel', (k) => el('code', {}, k.name)], ['Grid', (k) => k.grid.join(' × ')], ['Block', (k) => k.block.join(' × ')],
            ['Shared bytes', (k) => k.shared_bytes.toLocaleString('en'), 'number'], ['Registers', (k) => k.registers === null ? '?' : String(k.registers), 'number'],
            ['A multiprocessor holds', (k) => k.limited_by === null ? '?' : plural(k.resident_blocks, 'block') + ', ' + plural(k.resident_threads, 'thread')],
            ['Limited by', (k) => k.limited_by || '?']];
        const rows = analysis.kernels.map((k) => el('tr', {}, ...columns.map(([of, show, c]) => el('td', { class: c || '', 'data-of': of }, show(k)))));
        body('kernels').append(el('div', { class: 'scroll' }, el('table', { id: 'kernel-table' },
            el('thead', {}, el('tr', {}, ...columns.map(([of, , c]) => el('th', { class: c || '' }, of)))), el('tbody', {}, ...rows))));
        if (!analysis.barriers.length) return;
        body('kernels').append(el('h3', {}, 'Barriers'), el('table', { id: 'barrier-table' }, el('tbody', {}, ...analysis.barriers.map((b) => el('tr', {},
            el('td', { class: 'number' }, plain(b.per_block) + ' a block'), el('td', { class: 'soft wide' }, baseName(b.file) + ':' + b.line), el('td', {}, b.reason || ''))))));
    }

    drawHead();
    const roofline = el('div', {}, drawRoofline());
    narrow.addEventListener('change', () => roofline.replaceChildren(drawRoofline()));
    body('limits').append(el('div', { class: 'two' }, el('div', {}, drawBars(), drawIntensity()), roofline));
    drawAccesses();
    drawVersus();
    drawCode();
    drawSteps();
    drawKernels();
    drawNav();
    document.documentElement.dataset.ready = 'yes';
})();
