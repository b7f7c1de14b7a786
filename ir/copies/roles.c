/* roles.c - Says which threads of a launch have which role. */
#include "ir/copies/roles.h"

#include <string.h>

const Stmt *roles_in(const Stmt *body)
{
    for (int i = 0; i < stmt_items(body); i++)
        if (stmt_item(body, i)->kind == ST_ROLES)
            return stmt_item(body, i);
    return NULL;
}

const Stmt *launch_roles(const Stmt *launch)
{
    return roles_in(launch->u.launch.body);
}

int64_t roles_consumers(const LaunchStmt *launch)
{
    return launch->block[0] * launch->block[1] * launch->block[2];
}

Axis roles_axis(const LaunchStmt *launch)
{
    return launch->block[2] > 1   ? AXIS_THREAD_Z
           : launch->block[1] > 1 ? AXIS_THREAD_Y
                                  : AXIS_THREAD_X;
}

/* Threads for each coordinate of the axis that goes on. */
static int64_t slice(const LaunchStmt *launch)
{
    return roles_consumers(launch) / launch->block[roles_axis(launch) - AXIS_THREAD_X];
}

bool roles_are_warpgroups(const LaunchStmt *launch)
{
    return slice(launch) == ROLE_WARPGROUP;
}

int64_t roles_turns(const Stmt *launch)
{
    const Stmt *roles = launch_roles(launch);
    return roles && roles->u.roles.turn ? roles_consumers(&launch->u.launch) / ROLE_WARPGROUP : 1;
}

bool roles_fit(const LaunchStmt *launch)
{
    return roles_consumers(launch) % ROLE_WARP == 0 && ROLE_WARPGROUP % slice(launch) == 0;
}

void launch_block(const Stmt *launch, int64_t block[3])
{
    const LaunchStmt *l = &launch->u.launch;
    memcpy(block, l->block, sizeof l->block);
    if (launch_roles(launch))
        block[roles_axis(l) - AXIS_THREAD_X] += ROLE_WARPGROUP / slice(l);
}
