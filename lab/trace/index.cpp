// SPDX-License-Identifier: BSL-1.0
#include "lab/trace/index.hpp"

#include "lab/trace/block_file.hpp"
#include "lab/trace/block_output.hpp"

namespace millpond::trace {

std::vector<damage> rebuild_index(const std::string& path) {
    block_file file(path);
    damage_list damages;
    payload_buffer stored;
    block_output output(path, block_output::default_level, file.permissions());
    for (const block_record& block : file.scan(damages)) {
        std::string what;
        if (block.header.kind == mpt_index) continue;
        if (file.read_stored(block, stored, what))
            output.copy(block.header, stored.bytes());
        else
            damages.add(block.offset, what);
    }
    output.commit();
    return damages.all();
}

}  // namespace millpond::trace
