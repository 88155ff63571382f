/* zcrp.hpp as a program of C++17 uses it. */
#include <zcrp.h>

/* zcrp_wait_for; its time may pass just before the message ends, which the caller then sees. */
static bool is_late;
static int wait_for_late(struct zcrp_msg *message, int64_t timeout_ns)
{
    int code = zcrp_wait_for(message, timeout_ns);

    return is_late ? ZCRP_ERROR_TIMEOUT : code;
}

#define zcrp_wait_for wait_for_late
#include <zcrp.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static int checks, failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                            \
        }                                                                                          \
    } while (0)

/* Does the call throw that the peer has closed in order? */
template <typename F> static bool is_at_end(F call)
{
    try {
        call();
    } catch (const zcrp::end_of_stream &) {
        return true;
    } catch (const zcrp::error &) {
        return false;
    }
    return false;
}

/* What the call throws; 0: nothing. */
template <typename F> static int code_of(F call)
{
    try {
        call();
    } catch (const zcrp::error &e) {
        CHECK(std::string(e.what()) == zcrp_explain(e.code()));
        return e.code();
    }
    return 0;
}

struct pair {
    zcrp::listener listener{"127.0.0.1"};
    zcrp::connection there, here;

    explicit pair(const zcrp::options &o = {}) : there(call(listener, o)), here(listener.accept())
    {
    }

    /* Without a wait for the peer, which is this very thread. */
    static zcrp::connection call(const zcrp::listener &l, const zcrp::options &o)
    {
        return zcrp::connection("127.0.0.1", std::to_string(l.port()), o, 0ns);
    }
};

/* What a listener's connection has from its beginning. */
static void has_first_messages()
{
    zcrp::options o{};
    o.first_messages = 1;
    o.first_bytes = 100;
    zcrp::listener listener("127.0.0.1", "0", o);
    zcrp::connection there = pair::call(listener, {});
    zcrp::message out(5);

    std::memcpy(out.data(), "first", 5);
    there.sender().submit(out);
    zcrp::connection here = listener.accept();
    CHECK(here.first().second == 5 && std::memcmp(here.first().first, "first", 5) == 0);
    CHECK(code_of([&] { (void)here.first(1); }) == ZCRP_ERROR_ARGUMENT);
    CHECK(code_of([&] { (void)there.first(); }) == ZCRP_ERROR_ARGUMENT);
    (void)out.wait();
}

static void says_why()
{
    zcrp::listener taken("127.0.0.1");
    const std::string port = std::to_string(taken.port());

    try {
        zcrp::listener second("127.0.0.1", port);
        CHECK(false);
    } catch (const zcrp::error &e) {
        CHECK(e.code() == ZCRP_ERROR_ADDRESS);
        CHECK(std::string(e.what()) == "port " + port + " is in use at 127.0.0.1");
    }
    CHECK(std::string(zcrp::error(ZCRP_ERROR_MEMORY).what()) == zcrp_strerror(ZCRP_ERROR_MEMORY));
}

static void moves_containers()
{
    pair p;
    std::vector<float> out(100000), in(100000);
    const std::string text = "plain text";
    std::array<char, 64> room{};

    std::iota(out.begin(), out.end(), 1.0F);
    std::thread sender([&] {
        p.there.send(out);
        p.there.send(text);
        p.there.send({out.data(), 4});
    });
    CHECK(p.here.receive(in) == out.size() * sizeof(float));
    CHECK(in == out);
    CHECK(p.here.receive(room) == text.size());
    CHECK(std::string(room.data()) == text);
    CHECK(p.here.receive({room.data(), room.size()}) == 4);
    sender.join();
    CHECK(zcrp_connection_wait(p.here.get(), -1) == ZCRP_OK); /* it may still look for the peer */
    CHECK(p.here.status() == ZCRP_OK);
    CHECK(p.here.peer().find("127.0.0.1:") == 0);
    p.there.close();
    CHECK(code_of([&] { (void)p.here.receive(in); }) == ZCRP_ERROR_PEER_CLOSED);
    try {
        (void)p.here.receive(in);
        CHECK(false);
    } catch (const zcrp::end_of_stream &end) {
        CHECK(end.what() == std::string("the peer has closed"));
    }
}

/* A loop over the messages ends with the last one; where some were left behind, with an error. */
static void loops()
{
    const std::vector<std::size_t> sizes = {3, 0, 100000};
    std::vector<std::size_t> lengths;
    pair p;
    std::thread sender([&] {
        const std::vector<char> out(100000, 'x');
        for (std::size_t size : sizes)
            p.there.send({out.data(), size});
        p.there.close();
    });

    for (zcrp::message &m : p.here.messages())
        lengths.push_back(m.length());
    sender.join();
    CHECK(lengths == sizes);
    CHECK(!p.here.receive());
    CHECK(p.here.end());
}

static void posts_ahead()
{
    pair p;
    zcrp::entity sender = p.there.sender(), receiver = p.here.receiver();
    std::vector<zcrp::message> in;
    std::vector<char> out(5000, 'x');

    for (int i = 0; i < 10; i++)
        in.emplace_back(std::size_t{8000});
    for (auto &m : in)
        receiver.submit(m);
    CHECK(in[0].code() == ZCRP_ERROR_BUSY);
    CHECK(!in[0].wait_for(1ms));
    for (int i = 0; i < 10; i++)
        p.there.send(out);
    for (auto &m : in) {
        CHECK(m.wait() == out.size());
        CHECK(m.has_ended() && static_cast<char *>(m.data())[4999] == 'x');
    }
    CHECK(receiver.statistics().messages == 10);
    CHECK(sender.statistics().messages == 10);
}

/* A message may end just when the time has passed. */
/* The time passes, and the message has ended when somebody looks at its code. */
static void ends_as_the_time_passes()
{
    pair p;
    zcrp::message m(std::size_t{1});
    bool has_ended = true;

    p.here.receiver().submit(m);
    CHECK(!m.wait_for(0ns));
    p.there.send({"x", 1});
    CHECK(m.wait() == 1);
    is_late = true;
    CHECK(code_of([&] { has_ended = m.wait_for(0ns); }) == 0 && !has_ended);
    is_late = false;
    CHECK(m.wait_for(0ns));
}

static void asks_for_the_size()
{
    pair p;
    std::vector<char> out(12345);

    CHECK(!p.here.receiver().expect(1ms));
    std::thread sender([&] { p.there.send(out); });
    std::optional<std::size_t> size = p.here.receiver().expect();
    CHECK(size && *size == out.size());
    std::vector<char> in(*size);
    CHECK(p.here.receive(in) == out.size());
    sender.join();
    p.there.close();
    CHECK(is_at_end([&] { (void)p.here.receiver().expect(); }));
    CHECK(is_at_end([&] { (void)p.here.receive(in); }));
}

static void receives_any_size()
{
    pair p;
    std::vector<char> large(100000, 'x');

    std::thread sender([&] {
        p.there.send({"seven b", 7});
        p.there.send(large);
        p.there.send({"", 0});
        p.there.close();
    });
    std::optional<zcrp::message> m = p.here.receive();
    CHECK(m && m->length() == 7 && std::memcmp(m->data(), "seven b", 7) == 0);
    CHECK(!p.here.end());
    CHECK(code_of([&] { (void)p.here.receive(large.size() - 1); }) == ZCRP_ERROR_TOO_LARGE);
    m = p.here.receive(large.size()); /* it was not lost */
    CHECK(m && m->length() == large.size() && std::memcmp(m->data(), large.data(), 100000) == 0);
    m = p.here.receive();
    CHECK(m && m->length() == 0);
    CHECK(!p.here.receive());
    CHECK(p.here.end());
    sender.join();
}

static void takes_back()
{
    pair p;
    std::vector<char> memory(100);
    {
        zcrp::message m{zcrp::bytes(memory)};
        p.here.receiver().submit(m);
        CHECK(code_of([&] { p.here.receiver().submit(m); }) == ZCRP_ERROR_BUSY);
    } /* and gone */
    zcrp::message m{zcrp::bytes(memory)};
    p.here.receiver().submit(m);
    m.cancel();
    m.cancel();
    CHECK(m.code() == ZCRP_ERROR_CANCELLED);
    std::vector<char> other(10);
    m.rewrap(other);
    CHECK(m.size() == 10);
}

static void maps_messages()
{
    zcrp::options o{};

    o.mapped_bytes = 1 << 20;
    pair p(o);
    zcrp::message out = p.there.make_message(1000), in = p.here.make_message(1000);
    static_cast<char *>(out.data())[999] = 'y';
    p.here.receiver().submit(in);
    p.there.sender().submit(out);
    CHECK(in.wait() == 1000);
    CHECK(static_cast<char *>(in.data())[999] == 'y');
    (void)out.wait();
}

static void collects()
{
    pair p;
    zcrp::entity receiver = p.here.receiver();
    std::vector<char> out(10);

    CHECK(receiver.descriptor() >= 0);
    CHECK(receiver.collect() == nullptr);
    zcrp::message m(std::size_t{10});
    receiver.submit(m);
    p.there.send(out);
    ::zcrp_msg *found;
    while ((found = receiver.collect()) == nullptr)
        std::this_thread::sleep_for(1ms);
    CHECK(found == m.get());
}

static void knows_its_peer()
{
    const std::string secret(32, 'k'), other(32, 'o');
    zcrp::options o{}, wrong{};

    if (code_of([&] { (void)zcrp::keys::psk("us", secret); }) == ZCRP_ERROR_NO_KEYS)
        return; /* built without */
    zcrp::keys both = zcrp::keys::psk("us", secret), stranger = zcrp::keys::psk("us", other);
    CHECK(code_of([&] { both.log("/dev/null"); }) == ZCRP_ERROR_ARGUMENT); /* no file */
    o.keys = both.get();
    wrong.keys = stranger.get();
    zcrp::listener l("127.0.0.1", "0", o);
    zcrp::connection there("127.0.0.1", std::to_string(l.port()), o, 0ns);
    zcrp::connection here = l.accept();
    std::vector<char> in(100), out(100, 'z');
    std::thread sender([&] { there.send(out); });
    CHECK(here.receive(in) == 100 && in == out);
    sender.join();
    CHECK(here.identity() == "us" && there.identity() == "us");
    CHECK(here.receiver().identity() == "us" && there.sender().identity() == "us");
    CHECK(code_of([&] { zcrp::connection c("127.0.0.1", std::to_string(l.port()), wrong); }) ==
          ZCRP_ERROR_KEYS);
    CHECK(code_of([&] { (void)zcrp::keys::psk("us", {"short", 5}); }) == ZCRP_ERROR_ARGUMENT);
    CHECK(code_of([] { (void)zcrp::keys::read("/nowhere"); }) == ZCRP_ERROR_SYSTEM);
    pair p;
    CHECK(code_of([&] { (void)p.here.identity(); }) == ZCRP_ERROR_IDLE);
    CHECK(code_of([&] { (void)p.here.sender().identity(); }) == ZCRP_ERROR_IDLE);
}

/* Whatever of these a message is made of, it is clear which constructor is meant. */
static void makes_messages_of_what_there_is()
{
    std::vector<float> floats(10);
    const std::vector<float> &constant = floats;
    char letters[4] = {};

    CHECK(zcrp::message(floats).data() == floats.data());
    CHECK(zcrp::message(constant).size() == 40);
    CHECK(zcrp::message(letters).size() == 4);
    CHECK(zcrp::message("abc").size() == 4); /* with its NUL */
    CHECK(zcrp::message(zcrp::bytes(floats)).size() == 40);
    CHECK(zcrp::message(0).size() == 0);
    CHECK(zcrp::message(7u).size() == 7);
    CHECK(zcrp::message(7l).size() == 7);
}

static void listens_at_any_address()
{
    zcrp::listener there("");
    zcrp::connection here("127.0.0.1", std::to_string(there.port()));

    CHECK(there.accept_for(5s).has_value());
}

static void says_what_is_wrong()
{
    zcrp::options o{};

    CHECK(code_of([] { zcrp::listener l("no such host.invalid"); }) == ZCRP_ERROR_ADDRESS);
    CHECK(code_of([] { zcrp::connection c("127.0.0.1", "70000"); }) == ZCRP_ERROR_ADDRESS);
    o.congestion = 99;
    CHECK(code_of([&] { zcrp::listener l("127.0.0.1", "0", o); }) == ZCRP_ERROR_ARGUMENT);
    zcrp::listener l("127.0.0.1");
    CHECK(!l.accept_for(1ms));
    CHECK(l.descriptor() >= 0);
    const int none[2] = {-1, -1};
    CHECK(code_of([&] { (void)zcrp::endpoint::sender(none); }) == ZCRP_ERROR_DESCRIPTOR);
    CHECK(code_of([] { zcrp::message m(std::size_t{1} << 62); }) == ZCRP_ERROR_MEMORY);
    CHECK(code_of([] { zcrp::message m(-1); }) == ZCRP_ERROR_MEMORY);
    pair p;
    zcrp::message m(std::size_t{10});
    CHECK(code_of([&] { p.there.sender().submit(m, 11); }) == ZCRP_ERROR_SIZE);
    CHECK(code_of([&] { (void)m.wait(); }) == ZCRP_ERROR_IDLE);
}

static void owns_endpoints()
{
    int there = zcrp_udp_listen("127.0.0.1", "0");
    int out = zcrp_udp_connect("127.0.0.1", std::to_string(zcrp_udp_port(there)).c_str());
    char first = 'x';

    CHECK(out >= 0 && zcrp_udp_port(out) > 0);
    zcrp::endpoint sender = zcrp::endpoint::sender({out, out});
    zcrp::message m(zcrp::const_bytes(&first, 1));
    sender.submit(m);
    CHECK(zcrp_udp_accept(there, 5000000000) >= 0);
    zcrp::endpoint receiver = zcrp::endpoint::receiver({there, there});
    char got = 0;
    zcrp::message in(zcrp::bytes(&got, 1));
    receiver.submit(in);
    CHECK(in.wait() == 1 && got == 'x');
    (void)m.wait();
    zcrp::endpoint moved = std::move(sender);
    CHECK(sender.get() == nullptr && moved.get() != nullptr);
    moved.close();
}

static void sends_copies()
{
    pair p;
    std::array<char, 10> room{};
    std::vector<char> large(ZCRP_COPY_MOST + 1);
    char word[] = "soon other";

    CHECK(p.there.sender().send_copy({word, 10}));
    std::memset(word, 'x', 10);
    CHECK(p.here.receive(room) == 10 && std::memcmp(room.data(), "soon other", 10) == 0);
    CHECK(code_of([&] { (void)p.there.sender().send_copy(large); }) == ZCRP_ERROR_SIZE);
    large.pop_back();
    int copies = 0;
    while (copies < 100 && p.there.sender().send_copy(large))
        copies++;
    CHECK(copies >= 32 && copies < 100);
}

static void sends_pieces()
{
    pair p;
    char head[] = "head", body[] = "and body", in_head[6] = {}, in_body[7] = {};
    const iovec out[] = {{head, 4}, {body, 8}}, in[] = {{in_head, 6}, {in_body, 7}};
    zcrp::message sent(out, 2), received(in, 2);

    p.here.receiver().submit(received);
    p.there.sender().submit(sent);
    CHECK(received.wait() == 12 && sent.wait() == 12);
    CHECK(std::memcmp(in_head, "headan", 6) == 0 && std::memcmp(in_body, "d body", 6) == 0);
    CHECK(code_of([&] { zcrp::message m(out, -1); }) == ZCRP_ERROR_ARGUMENT);
}

/* One thread serves two peers: it accepts them, takes what they send, and sees them go. */
static void serves_by_a_queue()
{
    zcrp::queue events;
    zcrp::listener l("127.0.0.1");
    zcrp::completion found[8];
    char of_listener, of_peer;
    int words = 0, ended = 0;

    events.add(l, &of_listener);
    CHECK(events.descriptor() >= 0);
    CHECK(events.take(found, 0ns).empty());
    std::vector<zcrp::connection> there, here;
    std::vector<zcrp::message> posted;
    posted.reserve(2);
    for (int i = 0; i < 2; i++)
        there.push_back(pair::call(l, {}));
    std::thread callers([&] {
        for (zcrp::connection &c : there) {
            c.send(std::string("a word"));
            c.close();
        }
    });
    while (ended < 2) {
        for (const zcrp::completion &c : events.take(found)) {
            if (c.kind == ZCRP_PEER_CALLED) {
                CHECK(c.context == &of_listener && c.listener == l.get());
                here.push_back(l.accept());
                events.add(here.back(), &of_peer);
                posted.emplace_back(std::size_t{10});
                here.back().receiver().submit(posted.back());
            } else if (c.kind == ZCRP_MESSAGE_ENDED) {
                CHECK(c.context == &of_peer && c.code == ZCRP_OK && c.message->length == 6);
                words++;
            } else if (c.kind == ZCRP_CONNECTION_ENDED) {
                CHECK(c.code == ZCRP_ERROR_PEER_CLOSED);
                ended++;
            }
        }
    }
    callers.join();
    CHECK(words == 2);
    events.remove(l);
    CHECK(code_of([&] { events.remove(l); }) == ZCRP_ERROR_ARGUMENT);
    events.remove(here[0]);
    CHECK(code_of([&] { events.add(here[1]); }) == ZCRP_ERROR_ARGUMENT);
}

static void ends_takes()
{
    pair p;
    zcrp::queue first;
    zcrp::completion found[1];

    first.add(p.here.receiver());
    zcrp::queue events = std::move(first);
    CHECK(first.get() == nullptr && events.get() != nullptr);
    events.interrupt();
    CHECK(code_of([&] { (void)events.take(found); }) == ZCRP_ERROR_INTERRUPTED);
    CHECK(events.take(found, 1, 1ms).size() == 0);
    zcrp::message m(std::size_t{1});
    p.here.receiver().submit(m);
    m.cancel();
    auto told = events.take(found);
    CHECK(told.size() == 1 && told[0].message == m.get() && told[0].code == ZCRP_ERROR_CANCELLED);
    events.remove(p.here.receiver());
    events = zcrp::queue();
    events.add(p.here);
    p.here.close();
}

int main()
{
    has_first_messages();
    says_why();
    moves_containers();
    loops();
    posts_ahead();
    ends_as_the_time_passes();
    asks_for_the_size();
    receives_any_size();
    takes_back();
    maps_messages();
    collects();
    knows_its_peer();
    makes_messages_of_what_there_is();
    listens_at_any_address();
    says_what_is_wrong();
    owns_endpoints();
    sends_copies();
    sends_pieces();
    serves_by_a_queue();
    ends_takes();
    std::printf("%d of %d checks passed\n", checks - failures, checks);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
