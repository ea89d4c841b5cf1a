// SPDX-License-Identifier: BSL-1.0
// millpond: the whole library. Include a folder's header, or a class's own, to compile less.
#pragma once

#include "advise.hpp"
#include "bind.hpp"
#include "block.hpp"
#include "classic.hpp"
#include "container.hpp"
#include "core.hpp"
#include "local.hpp"
#include "os.hpp"
#include "wrap.hpp"
