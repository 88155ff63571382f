/* Calls the C++ functions of docs/guide.md, which guide_test.sh puts into guide.cpp:
 *
 *     main gather PORT                 one caller; tells its port on standard error
 *     main scatter PORT */
#include "guide.cpp"

int main(int, char **argv)
try {
    if (std::string(argv[1]) == "scatter") {
        scatter("127.0.0.1", argv[2]);
    } else {
        zcrp::listener listener("127.0.0.1", argv[2]);
        std::cerr << "main: port " << listener.port() << std::endl;
        gather(listener);
    }
} catch (const zcrp::error &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
