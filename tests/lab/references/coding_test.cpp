// SPDX-License-Identifier: BSL-1.0
// Words of a stream, encoded and decoded again, on random code and random runs of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "../trace/seed.hpp"
#include "lab/references/code_table.hpp"
#include "lab/references/decoder.hpp"
#include "lab/references/expansion.h"
#include "lab/trace/fields.hpp"

namespace {

using namespace millpond;
using namespace millpond::references;
using engine = std::mt19937_64;

std::uint64_t below(engine& random, std::uint64_t limit) { return random() % limit; }

// Superblocks with exits ever further inside, as a payload and as a table.
struct random_code {
    trace::field_writer payload;
    std::uint32_t superblocks;
    code_table table;

    explicit random_code(engine& random) : superblocks(static_cast<std::uint32_t>(1 + below(random, 40))) {
        for (std::uint32_t i = 0; i < superblocks; ++i) add(random);
        mpt_block_header header{};
        header.count = superblocks;
        table.take(payload.bytes(), header);
    }

    void add(engine& random) {
        const std::uint64_t roots = below(random, 6), exits = 1 + below(random, 3), accesses = below(random, 9);
        payload.number(random());
        payload.number(roots);
        payload.number(exits);
        payload.number(accesses);
        for (std::uint64_t i = 0; i < exits; ++i) {  // the last exit has all, the others none
            payload.number(i + 1 == exits ? accesses : 0);
            payload.number(i + 1 == exits ? roots : 0);
            payload.number(1 + below(random, 5));
        }
        for (std::uint64_t i = 0; i < accesses; ++i) {
            payload.number(below(random, roots + 1));
            payload.signed_number(static_cast<std::int64_t>(below(random, 1000)) - 500);
            payload.number(std::uint64_t{1} << below(random, 8));
            payload.number(below(random, 3) | (below(random, 10) == 0 ? 4 : 0));
        }
    }
};

// Returns a value as programs have them: constant, striding, repeating, alternating, random or extreme.
std::uint64_t next_value(engine& random, std::uint64_t& last) {
    switch (below(random, 7)) {
        case 0:
            return last;
        case 1:
        case 2:
            return last += 8;
        case 3:
            return last = 0x7f0000000000 + 64 * below(random, 10);
        case 4:
            return last = random();
        case 5:
            return last = below(random, 2) == 0 ? 0 : ~std::uint64_t{0};
        default:
            return last -= below(random, 4096);
    }
}

std::vector<std::uint64_t> random_words(engine& random, const millpond_table& table, std::size_t records) {
    std::vector<std::uint64_t> words;
    std::vector<std::uint64_t> last(table.root_count + 1);
    for (std::size_t i = 0; i < records; ++i) {
        if (below(random, 20) == 0) {
            const std::uint64_t record = 1 + below(random, 9);
            words.push_back(record);
            for (unsigned k = 0; k < millpond_operands(record); ++k) words.push_back(random() >> below(random, 64));
            continue;
        }
        // Mostly the same few exits, so that predictions hold.
        const std::uint64_t exit = below(random, 3) == 0 ? below(random, table.exit_count) : i % 3 % table.exit_count;
        words.push_back(millpond_exit_word(exit, table.exits[exit].roots));
        for (unsigned k = 0; k < table.exits[exit].roots; ++k)
            words.push_back(next_value(random, last[table.exits[exit].first_root + k]));
    }
    return words;
}

// Returns the payload of a block of references, with padding behind it.
std::vector<std::uint8_t> encode(const std::vector<std::uint64_t>& words, const millpond_table& table) {
    std::vector<millpond_root_memory> roots(table.root_count);
    const auto prediction = std::make_unique<millpond_prediction>();
    prediction->roots = roots.data();
    std::vector<std::uint8_t> columns[millpond_columns];
    millpond_encoder e{};
    e.prediction = prediction.get();
    for (unsigned i = 0; i < millpond_columns; ++i) {
        columns[i].resize(millpond_column_room(words.size()));
        e.cursors[i] = columns[i].data();
    }
    millpond_encoder_begin(&e);
    millpond_encode(&e, table.exits, words.data(), words.data() + words.size());
    millpond_encoder_end(&e);
    trace::field_writer payload;
    for (const std::uint64_t number : {e.words, e.references, e.instructions, std::uint64_t{2}}) payload.number(number);
    for (unsigned i = 0; i < millpond_columns; ++i)
        payload.number(static_cast<std::uint64_t>(e.cursors[i] - columns[i].data()));
    std::vector<std::uint8_t> bytes(payload.bytes().begin(), payload.bytes().end());
    for (unsigned i = 0; i < millpond_columns; ++i) bytes.insert(bytes.end(), columns[i].data(), e.cursors[i]);
    return bytes;
}

std::vector<std::uint64_t> decode(std::vector<std::uint8_t> payload, const millpond_table& table, decoder& from) {
    const std::size_t bytes = payload.size();
    payload.resize(bytes + 64);
    std::vector<std::uint64_t> words;
    from.open({payload.data(), bytes}, table);
    for (auto part = from.next(); !part.empty(); part = from.next())
        words.insert(words.end(), part.begin(), part.end());
    return words;
}

TEST(coding, decodes_what_was_encoded) {
    decoder from;  // one for all: nothing of a block stays
    for (unsigned round = 0; round < 60; ++round) {
        engine random(test::seed() + round);
        const random_code code(random);
        const std::vector<std::uint64_t> words = random_words(random, code.table.view(), below(random, 30000));
        ASSERT_EQ(decode(encode(words, code.table.view()), code.table.view(), from), words) << "round " << round;
    }
}

TEST(coding, regular_code_costs_bits) {
    engine random(test::seed());
    trace::field_writer payload;
    for (const std::uint64_t number : {4096, 1, 1, 2, 2, 1, 3}) payload.number(number);  // 2 accesses of 1 root
    for (int i = 0; i < 2; ++i) {
        payload.number(1);
        payload.signed_number(8 * i);
        payload.number(8);
        payload.number(0);
    }
    mpt_block_header header{};
    header.count = 1;
    code_table table;
    table.take(payload.bytes(), header);
    std::vector<std::uint64_t> words;
    for (std::uint64_t i = 0; i < 10000; ++i) {
        words.push_back(millpond_exit_word(0, 1));
        words.push_back(0x1000 + 16 * i);
    }
    EXPECT_LT(encode(words, table.view()).size(), 10000u + 100);  // one code for two references
}

// Expansion agrees with the simplest possible implementation.
TEST(coding, expands_each_record_as_its_exit_says) {
    for (unsigned round = 0; round < 40; ++round) {
        engine random(test::seed() + round);
        const random_code code(random);
        const millpond_table& table = code.table.view();
        const std::vector<std::uint64_t> words = random_words(random, table, below(random, 2000));
        millpond_expansion e{};
        e.table = &table;
        std::vector<millpond_reference> batch(millpond_batch_room_min + below(random, 3000));
        std::uint64_t instructions = 0, stores = 0, modifications = 0;
        std::vector<millpond_reference> found, expected;
        for (const std::uint64_t* at = words.data(); at < words.data() + words.size();) {
            const std::uint64_t* const before = at;
            const std::size_t n = millpond_expand(&e, &at, words.data() + words.size(), batch.data(), batch.size());
            for (std::size_t i = 0; i < n; ++i)
                if (batch[i].origin != millpond_of_system) found.push_back(batch[i]);
            if (at == before ||
                (at < words.data() + words.size() && *at < millpond_first_exit && *at != millpond_record_system))
                at += 1 + millpond_operands(*at);
        }
        for (std::size_t i = 0; i < words.size();) {
            if (words[i] < millpond_first_exit) {
                i += 1 + millpond_operands(words[i]);
                continue;
            }
            const millpond_exit& exit = table.exits[millpond_exit_number(words[i])];
            instructions += exit.instructions;
            for (unsigned k = 0; k < exit.accesses; ++k) {
                const millpond_access& access = table.accesses[exit.first_access + k];
                const std::uint64_t root = access.root == 0 ? 0 : words[i + access.root];
                if (access.guarded != 0 && root == 0) continue;
                std::uint64_t address = root + static_cast<std::uint64_t>(access.offset), left = access.bytes;
                while (left != 0) {
                    const std::uint64_t piece =
                        access.bytes <= 64 ? left : std::min<std::uint64_t>(left, 64 - address % 64);
                    expected.push_back({address, 0, static_cast<std::uint16_t>(piece), access.kind, 0});
                    stores += access.kind == millpond_store ? 1 : 0;
                    modifications += access.kind == millpond_modify ? 1 : 0;
                    address += piece;
                    left -= piece;
                }
            }
            i += 1 + exit.roots;
        }
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof found[i]), 0) << i;
        EXPECT_EQ(e.stores, stores);
        EXPECT_EQ(e.modifications, modifications);
        EXPECT_EQ(e.instructions[0] + e.instructions[1], instructions);
    }
}

// A payload with changed bytes is refused or decodes to something; it does no harm.
TEST(coding, damaged_payloads_do_no_harm) {
    for (unsigned round = 0; round < 60; ++round) {
        engine random(test::seed() + round);
        const random_code code(random);
        std::vector<std::uint8_t> payload = encode(random_words(random, code.table.view(), 500), code.table.view());
        for (int i = 0; i < 4; ++i)
            payload[below(random, payload.size())] ^= static_cast<std::uint8_t>(1 + below(random, 255));
        decoder from;
        try {
            decode(payload, code.table.view(), from);
        } catch (const trace::trace_error&) {
        }
        std::vector<std::uint8_t> table(code.payload.bytes().begin(), code.payload.bytes().end());
        table[below(random, table.size())] ^= static_cast<std::uint8_t>(1 + below(random, 255));
        mpt_block_header header{};
        header.count = code.superblocks;
        try {
            code_table().take(table, header);
        } catch (const trace::trace_error&) {
        }
    }
}

}  // namespace
