// SPDX-License-Identifier: BSL-1.0
// files: users' files are read without waiting and replaced as a whole; no other file in their folder is touched.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "lab/program/aside_file.hpp"
#include "lab/program/program.hpp"
#include "lab/program/regular_file.hpp"

namespace {

namespace fs = std::filesystem;
using namespace millpond::program;

class files : public testing::Test {
  protected:
    void SetUp() override {
        char place[] = "/tmp/millpond_files_XXXXXX";
        ASSERT_NE(::mkdtemp(place), nullptr);
        folder = place;
    }
    void TearDown() override { fs::remove_all(folder); }

    void put(const std::string& name, const std::string& content) const {
        std::ofstream(folder / name, std::ios::binary) << content;
    }
    static std::string content_of(const fs::path& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    // Every file of the folder and what it holds.
    std::map<std::string, std::string> listing() const {
        std::map<std::string, std::string> found;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder))
            found[entry.path().filename()] = entry.is_regular_file() ? content_of(entry.path()) : "";
        return found;
    }

    fs::path folder;
};

TEST_F(files, reads_what_is_in_a_file) {
    for (const std::size_t bytes : {0u, 1u, 65'535u, 65'536u, 65'537u, 1'000'000u}) {
        const std::string content(bytes, 'c');
        put("file", content);
        EXPECT_EQ(read_regular(folder / "file", 1'000'000), content);
    }
    EXPECT_THROW(read_regular(folder / "file", 999'999), failure);
    EXPECT_FALSE(read_regular("/proc/self/status", 1 << 20).empty()) << "a file that states no size";
}

TEST_F(files, refuses_fifos_and_folders_without_waiting) {
    fs::create_directory(folder / "folder");
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (folder / "socket").c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    fs::create_symlink(folder / "fifo", folder / "link");
    const std::pair<std::string, std::string> wrong[] = {{"folder", "a folder"},
                                                         {"fifo", "a FIFO"},
                                                         {"socket", "a socket"},
                                                         {"link", "a FIFO"},
                                                         {"none", "No such file"}};
    for (const auto& [name, said] : wrong) {
        try {
            ::close(open_regular((folder / name).c_str()));
            ADD_FAILURE() << name << " was opened";
        } catch (const failure& error) {
            EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find((folder / name).string()), std::string::npos) << error.what();
        }
    }
    EXPECT_THROW(open_regular("/dev/zero"), failure);
    ::close(socket);
}

TEST_F(files, a_file_appears_whole_or_not_at_all) {
    put("file", "old");
    {
        aside_file half(folder / "file");
        half.write("new and half");
        EXPECT_EQ(content_of(folder / "file"), "old");
    }
    EXPECT_EQ(listing(), (std::map<std::string, std::string>{{"file", "old"}}));
    write_whole(folder / "file", "new");
    EXPECT_EQ(listing(), (std::map<std::string, std::string>{{"file", "new"}}));
}

TEST_F(files, writing_touches_no_other_file) {
    const std::string own = "." + std::to_string(::getpid());
    for (const std::string& name :
         {std::string("file.partial"), "file" + own + ".partial", "file" + own + "-1.partial"})
        put(name, "precious");
    std::map<std::string, std::string> expected = listing();
    {
        const aside_file dropped(folder / "file");
    }
    prove_writable(folder / "file");
    EXPECT_EQ(listing(), expected);
    write_whole(folder / "file", "new");
    expected["file"] = "new";
    EXPECT_EQ(listing(), expected);
}

TEST_F(files, a_foreign_file_under_the_partial_name_is_kept) {
    std::string partial;
    {
        aside_file half(folder / "file");
        for (const auto& [name, content] : listing()) partial = name;
        fs::rename(folder / partial, folder / "moved away");
        put(partial, "precious");
    }
    EXPECT_EQ(content_of(folder / partial), "precious");
}

TEST_F(files, devices_and_fifos_are_written_in_place) {
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    prove_writable(folder / "fifo");
    const int reading = ::open((folder / "fifo").c_str(), O_RDONLY | O_NONBLOCK);
    write_whole(folder / "fifo", "through");
    char got[16] = {};
    EXPECT_EQ(::read(reading, got, sizeof got), 7);
    ::close(reading);
    EXPECT_TRUE(fs::is_fifo(folder / "fifo"));
    fs::create_symlink("/dev/null", folder / "null");
    prove_writable(folder / "null");
    write_whole(folder / "null", "nothing");
    EXPECT_TRUE(fs::is_symlink(folder / "null"));
    EXPECT_EQ(listing().size(), 2u);
}

TEST_F(files, places_that_cannot_be_written_are_named) {
    fs::create_directory(folder / "folder");
    for (const fs::path& place : {folder / "folder", folder / "no" / "such", folder / "folder" / ""})
        for (const bool only_tried : {true, false}) {
            try {
                only_tried ? prove_writable(place) : write_whole(place, "text");
                ADD_FAILURE() << place << " was written";
            } catch (const failure& error) {
                EXPECT_NE(std::string(error.what()).find(place.string()), std::string::npos) << error.what();
                EXPECT_EQ(error.status, millpond::program::environment);
            }
        }
    EXPECT_EQ(listing().size(), 1u);
}

}  // namespace
