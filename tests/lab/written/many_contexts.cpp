// SPDX-License-Identifier: BSL-1.0
// A program that fills a member from 8191 call stacks: each path through the two calls is a different stack.
#include <cstdio>
#include <list>

class branches {
  public:
    [[gnu::noinline]] void grow(int depth) {
        depths_.push_back(depth);
        if (depth == 0) return;
        grow(depth - 1);
        grow(depth - 1);
        ++grown_;
    }

    [[nodiscard]] std::size_t size() const { return depths_.size() + grown_; }

  private:
    std::list<int> depths_;
    std::size_t grown_ = 0;
};

int main() {
    branches all;
    all.grow(12);
    std::printf("%zu\n", all.size());
}
