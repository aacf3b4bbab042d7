#include "tools/cli/terminal.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

using namespace memwall::cli;

namespace fs = std::filesystem;

namespace {

// A folder that goes with the test.
class Folder {
  public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "memwall-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    Folder(Folder&&) = delete;
    Folder& operator=(Folder&&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
    [[nodiscard]] std::ptrdiff_t files() const {
        return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
    }

  private:
    fs::path path_;
};

std::string content(const std::string& file) {
    std::ostringstream all;
    all << std::ifstream(file, std::ios::binary).rdbuf();
    return all.str();
}

}  // namespace

TEST_CASE("a file is made, and replaced as a whole with its permissions") {
    const Folder folder;
    const std::string file = folder.file("a.json");
    CHECK(write_file(file, "first").empty());
    CHECK(content(file) == "first");
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    CHECK(write_file(file, "second").empty());
    CHECK(content(file) == "second");
    CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(folder.files() == 1);
}

TEST_CASE("a link stays a link and the file behind it is written") {
    const Folder folder;
    CHECK(write_file(folder.file("real"), "first").empty());
    fs::create_symlink("real", folder.file("link"));
    CHECK(write_file(folder.file("link"), "second").empty());
    CHECK(fs::is_symlink(folder.file("link")));
    CHECK(content(folder.file("real")) == "second");
    fs::create_symlink("absent", folder.file("to nothing"));
    CHECK(write_file(folder.file("to nothing"), "third").empty());
    CHECK(fs::is_symlink(folder.file("to nothing")));
    CHECK(content(folder.file("absent")) == "third");
}

TEST_CASE("a pipe stays a pipe and gets the text") {
    const Folder folder;
    const std::string pipe = folder.file("pipe");
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    std::string read;
    std::thread reader([&] { read = content(pipe); });
    const std::string error = write_file(pipe, "text");
    reader.join();
    CHECK(error.empty());
    CHECK(read == "text");
    CHECK(fs::is_fifo(pipe));
    CHECK(folder.files() == 1);
}

// A copy of /dev/full, so that a mistake does not cost the machine its own.
TEST_CASE("a device stays a device and its error is reported") {
    const Folder folder;
    const std::string device = folder.file("full");
    if (mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0 ||
        access(device.c_str(), W_OK) != 0 || !std::ofstream(device)) {
        MESSAGE("devices cannot be made here");
        return;
    }
    CHECK(write_file(device, "text").find("No space left on device") != std::string::npos);
    CHECK(fs::is_character_file(device));
    CHECK(folder.files() == 1);
}

TEST_CASE("what cannot be written is named with its reason, and nothing is left over") {
    const Folder folder;
    CHECK(write_file(folder.file("no/such.json"), "text").find("No such file") !=
          std::string::npos);
    fs::create_directory(folder.file("folder"));
    CHECK(write_file(folder.file("folder"), "text").find("Is a directory") != std::string::npos);
    CHECK(folder.files() == 1);
}
