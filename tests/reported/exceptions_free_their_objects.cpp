// SPDX-License-Identifier: BSL-1.0
// Report: koute/bytehound 119
// Situation: a thousand exceptions with a text each are thrown and caught.
// Holds: every exception object and its text is freed; hardly a block lives at the end.
// Live at the end: 20
#include <cstdio>
#include <stdexcept>
#include <string>
[[gnu::noinline]] static void fail(int i) {
    throw std::runtime_error("a text of more than fifteen bytes " + std::to_string(i));
}
int main() {
    int caught = 0;
    for (int i = 0; i < 1000; ++i) {
        try {
            fail(i);
        } catch (const std::exception& error) {
            caught += error.what()[0] == 'a';
        }
    }
    std::puts(caught == 1000 ? "ok" : "wrong");
}
