#include "sim/core/diagnostics.h"
