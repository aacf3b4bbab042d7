#pragma once
// One function per verb; each returns the exit status.
#include "tools/cli/session.h"

namespace memwall::cli {

int command_run(Session& session);
int command_resolve(Session& session);
int command_trace(Session& session);
int command_program(Session& session);
int command_topo(Session& session);
int command_list(Session& session);
int command_check(Session& session);
int command_explain(Session& session);
int command_validate(Session& session);
int command_calibrate(Session& session);
int command_help(Session& session);

}  // namespace memwall::cli
