/* SPDX-License-Identifier: MIT */
/* libzcrp for C++17: the calls of zcrp.h with owners, spans and exceptions. Header only; it links
 * with the C library and needs no other.
 *
 *     zcrp::listener there("127.0.0.1", "7000");
 *     zcrp::connection peer = there.accept();
 *     std::vector<float> shard(1 << 20);
 *     std::size_t n = peer.receive(shard);        // into place, waits; its bytes
 *
 *     zcrp::connection peer("127.0.0.1", "7000");
 *     peer.send(shard);
 *
 * Owners. A listener, a connection, a sender, a receiver, a queue and a message own what they are
 * named after: they move, and do not copy. A message that is still in flight when it goes out of
 * scope is cancelled first, so its memory is the caller's again. Its destructor waits then: for a
 * system call that is under way, and if a stopped process on this host is copying to the message,
 * until that process goes on or ends.
 *
 * Errors. A call that fails throws zcrp::error, with the code and the text of zcrp_explain. Where
 * the peer has closed in order, connection::receive and entity::expect throw zcrp::end_of_stream; a
 * wait for a message throws zcrp::error with that code (ZCRP_ERROR_PEER_CLOSED). Calls with a time
 * limit say by their value that it has passed; they do not throw for that. Destructors throw
 * nothing: call close() to learn how it went.
 *
 * Times are std::chrono durations; a negative one is for ever. Threads, forks and ownership of
 * buffers are as zcrp.h says. */
#ifndef ZCRP_HPP
#define ZCRP_HPP

#include <zcrp.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace zcrp
{

using options = ::zcrp_options;
using duration = std::chrono::nanoseconds;

inline constexpr duration for_ever{-1};

/* An error code (ZCRP_ERROR_...) that a call in this thread has just returned. */
class error : public std::runtime_error
{
  public:
    explicit error(int code) : std::runtime_error(zcrp_explain(code)), code_(code)
    {
    }

    int code() const noexcept
    {
        return code_;
    }

  private:
    int code_;
};

/* The peer has closed, and all that it sent was received. */
class end_of_stream : public error
{
  public:
    end_of_stream() : error(ZCRP_ERROR_PEER_CLOSED)
    {
    }
};

namespace detail
{

inline int check(int code)
{
    if (code < 0)
        throw error(code);
    return code;
}

inline int64_t ns(duration limit)
{
    return limit.count() < 0 ? -1 : limit.count();
}

inline ::zcrp_msg *wrap(const ::iovec *pieces, int count)
{
    ::zcrp_msg *made = zcrp_wrap_iov(pieces, count);

    if (made == nullptr && errno == EINVAL)
        throw error(ZCRP_ERROR_ARGUMENT);
    return made;
}

/* What std::data works on. */
template <typename C>
using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;

/* Does it work on this, and are the values plain? Then bytes say all of them. */
template <typename C, typename = void> struct is_plain : std::false_type {
};
template <typename C>
struct is_plain<C, std::void_t<element<C>>>
    : std::bool_constant<!std::is_void_v<element<C>> && std::is_trivially_copyable_v<element<C>>> {
};

template <typename C, typename = void> struct is_writable : std::false_type {
};
template <typename C>
struct is_writable<C, std::void_t<element<C>>>
    : std::bool_constant<is_plain<C>::value && !std::is_const_v<element<C>>> {
};

} // namespace detail

/* Bytes that somebody else owns: of a pointer and a size, or of anything contiguous with plain
 * elements (std::vector, std::array, std::string, std::span of C++20). */
class const_bytes
{
  public:
    const_bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }

    template <typename C, typename = std::enable_if_t<detail::is_plain<const C>::value>>
    const_bytes(const C &container) noexcept
        : data_(std::data(container)), size_(std::size(container) * sizeof(*std::data(container)))
    {
    }

    const void *data() const noexcept
    {
        return data_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }

  private:
    const void *data_;
    std::size_t size_;
};

class bytes
{
  public:
    bytes(void *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }

    template <typename C, typename = std::enable_if_t<detail::is_writable<C>::value>>
    bytes(C &container) noexcept
        : data_(std::data(container)), size_(std::size(container) * sizeof(*std::data(container)))
    {
    }

    void *data() const noexcept
    {
        return data_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }

  private:
    void *data_;
    std::size_t size_;
};

/* This side's key, and the peers that it accepts: `options.keys = k.get()`. Connections and
 * listeners hold them as long as they need them. */
class keys
{
  public:
    /* At least 32 random bytes that both ends have, and a name for them. */
    static keys psk(const std::string &identity, const_bytes secret)
    {
        keys k;

        detail::check(zcrp_keys_psk(&k.handle_, identity.c_str(), secret.data(), secret.size()));
        return k;
    }

    /* A secret key in PEM; each peer's public key is to be pinned. */
    static keys raw(const_bytes pem)
    {
        keys k;

        detail::check(zcrp_keys_raw(&k.handle_, pem.data(), pem.size()));
        return k;
    }

    /* Files in PEM. Without a name, any certificate of these authorities is accepted. */
    static keys certificate(const std::string &certificate_file, const std::string &key_file,
                            const std::string &authorities_file, const std::string &name = {})
    {
        keys k;

        detail::check(zcrp_keys_certificate(&k.handle_, certificate_file.c_str(), key_file.c_str(),
                                            authorities_file.c_str(),
                                            name.empty() ? nullptr : name.c_str()));
        return k;
    }

    /* A file that zcrp-keys made. */
    static keys read(const std::string &path)
    {
        keys k;

        detail::check(zcrp_keys_read(&k.handle_, path.c_str()));
        return k;
    }

    keys(keys &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }

    keys &operator=(keys &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~keys()
    {
        zcrp_keys_free(handle_);
    }

    void add_psk(const std::string &identity, const_bytes secret)
    {
        detail::check(zcrp_keys_add_psk(handle_, identity.c_str(), secret.data(), secret.size()));
    }

    void pin(const std::string &fingerprint)
    {
        detail::check(zcrp_keys_pin(handle_, fingerprint.c_str()));
    }

    /* Appends the secrets of each connection to a file, with which captures can be decrypted. */
    void log(const std::string &path)
    {
        detail::check(zcrp_keys_log(handle_, path.c_str()));
    }

    ::zcrp_keys *get() const noexcept
    {
        return handle_;
    }

  private:
    keys() noexcept = default;

    ::zcrp_keys *handle_ = nullptr;
};

/* A message: memory of its own, or over the caller's, which must outlive it. */
class message
{
  public:
    /* With a buffer of its own. */
    explicit message(std::size_t size) : message(zcrp_alloc_msg(size))
    {
    }

    template <typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
    explicit message(N size) : message(static_cast<std::size_t>(size))
    {
    }

    /* Over memory that is received into, or sent. */
    explicit message(bytes memory) : message(zcrp_wrap_msg(memory.data(), memory.size()))
    {
    }

    template <typename C, typename = std::enable_if_t<detail::is_writable<C>::value>>
    explicit message(C &container) : message(bytes(container))
    {
    }

    /* Over memory that is only sent. */
    explicit message(const_bytes memory)
        : message(zcrp_wrap_msg(const_cast<void *>(memory.data()), memory.size()))
    {
    }

    /* Over several pieces of memory, which are gathered, or filled, in this order: zcrp_wrap_iov.
     */
    message(const ::iovec *pieces, int count) : message(detail::wrap(pieces, count))
    {
    }

    /* Owns what the C library has made. ZCRP_ERROR_MEMORY for NULL. */
    explicit message(::zcrp_msg *made) : handle_(made)
    {
        if (made == nullptr)
            throw error(ZCRP_ERROR_MEMORY);
    }

    message(message &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }

    message &operator=(message &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~message()
    {
        if (handle_ != nullptr && zcrp_error(handle_) == ZCRP_ERROR_BUSY)
            while (zcrp_cancel(handle_) == ZCRP_ERROR_BUSY) { /* the peer may write to it still */
            }
        zcrp_free_msg(handle_);
    }

    /* Waits for its end. True if it ended well; false if the time passed. Throws how it failed. */
    bool wait_for(duration limit)
    {
        int code = zcrp_wait_for(handle_, detail::ns(limit));

        if (code == ZCRP_ERROR_TIMEOUT) /* no message ends with that */
            return false;
        detail::check(code);
        return true;
    }

    /* The bytes that arrived, or were sent. */
    std::size_t wait()
    {
        (void)wait_for(for_ever);
        return length();
    }

    /* Has it ended, well or not? */
    bool has_ended() const noexcept
    {
        return zcrp_probe(handle_) != 0;
    }

    /* ZCRP_OK, how it failed, ZCRP_ERROR_BUSY in flight, ZCRP_ERROR_IDLE before. */
    int code() const noexcept
    {
        return zcrp_error(handle_);
    }

    /* Cancels it: its memory is the caller's again. Does nothing if it is not in flight. */
    void cancel()
    {
        int code = zcrp_cancel(handle_);

        if (code != ZCRP_ERROR_IDLE)
            detail::check(code);
    }

    /* Points a message over memory elsewhere. */
    void rewrap(bytes memory)
    {
        detail::check(zcrp_rewrap_msg(handle_, memory.data(), memory.size()));
    }

    std::size_t length() const noexcept
    {
        return handle_->length;
    }
    std::size_t size() const noexcept
    {
        return handle_->message_size;
    }
    void *data() noexcept
    {
        return handle_->buffer;
    }
    const void *data() const noexcept
    {
        return handle_->buffer;
    }
    ::zcrp_msg *get() const noexcept
    {
        return handle_;
    }

  private:
    ::zcrp_msg *handle_;
};

/* A sender or a receiver that somebody owns: a connection, or an endpoint below. */
class entity
{
  public:
    entity() noexcept = default;
    explicit entity(::zcrp_entity *handle) noexcept : handle_(handle)
    {
    }

    /* Sends the message, or posts it to receive; `size` bytes of it, or all. Returns at once. The
     * message must not move, and must not be destroyed by another thread, until it has ended. */
    void submit(message &m, std::size_t size)
    {
        detail::check(zcrp_submit(handle_, m.get(), size));
    }
    void submit(message &m)
    {
        submit(m, m.size());
    }

    /* Sends a copy of up to ZCRP_COPY_MOST bytes, which ends by itself. False: there is no room at
     * present (ZCRP_ERROR_BUSY). */
    bool send_copy(const_bytes memory)
    {
        int code = zcrp_send_copy(handle_, memory.data(), memory.size());

        if (code == ZCRP_ERROR_BUSY)
            return false;
        detail::check(code);
        return true;
    }

    /* Of a receiver: the size of the next message for which nothing is posted; none: the time
     * passed. The peer may lie. Throws end_of_stream if the peer has closed, and all that it sent
     * was received. */
    std::optional<std::size_t> expect(duration limit = for_ever)
    {
        nlong size = 0;
        int code = zcrp_expect(handle_, &size, detail::ns(limit));

        if (code == ZCRP_ERROR_TIMEOUT)
            return std::nullopt;
        if (code == ZCRP_ERROR_PEER_CLOSED)
            throw end_of_stream();
        detail::check(code);
        return static_cast<std::size_t>(size);
    }

    /* A message that has ended and was not waited for; NULL: none. It is the caller's still. */
    ::zcrp_msg *collect() noexcept
    {
        return zcrp_collect(handle_);
    }

    /* Readable when there is something to collect; the library's. */
    int descriptor()
    {
        return detail::check(zcrp_descriptor(handle_));
    }

    /* The peer's authenticated identity. Throws ZCRP_ERROR_IDLE without keys. */
    std::string identity() const
    {
        char text[ZCRP_KEYS_IDENTITY_MOST + 1];

        detail::check(zcrp_identity(handle_, text, sizeof text));
        return text;
    }

    /* Ends the waits of this entity, with ZCRP_ERROR_INTERRUPTED. A signal handler may call it. */
    void interrupt() noexcept
    {
        (void)zcrp_interrupt(handle_);
    }

    ::zcrp_stats statistics() const
    {
        ::zcrp_stats stats{};

        detail::check(zcrp_stats(handle_, &stats));
        return stats;
    }

    ::zcrp_entity *get() const noexcept
    {
        return handle_;
    }

  protected:
    ::zcrp_entity *handle_ = nullptr;
};

/* A sender or a receiver over two connected sockets of the caller's, as zcrp_open_sender and
 * zcrp_open_receiver have it. */
class endpoint : public entity
{
  public:
    static endpoint sender(const int (&descriptors)[2], const options &o = {})
    {
        endpoint e;

        detail::check(zcrp_open_sender(&e.handle_, descriptors, &o));
        return e;
    }

    static endpoint receiver(const int (&descriptors)[2], const options &o = {})
    {
        endpoint e;

        detail::check(zcrp_open_receiver(&e.handle_, descriptors, &o));
        return e;
    }

    endpoint(endpoint &&other) noexcept : entity(std::exchange(other.handle_, nullptr))
    {
    }

    endpoint &operator=(endpoint &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~endpoint()
    {
        while (zcrp_close(handle_) == ZCRP_ERROR_BUSY) {
        }
    }

    /* Throws ZCRP_ERROR_TIMEOUT if the peer did not confirm; it is closed nevertheless. Not after
     * ZCRP_ERROR_BUSY. */
    void close()
    {
        int code = zcrp_close(handle_);

        if (code != ZCRP_ERROR_BUSY)
            handle_ = nullptr;
        detail::check(code);
    }

  private:
    endpoint() noexcept = default;
};

/* A sender and a receiver over one socket. */
class connection
{
  public:
    /* Waits until the peer's listener has admitted this caller; at most as long as this, and as the
     * options say (connect_ns). 0 begins: status() tells how it goes on. */
    connection(const std::string &host, const std::string &port, const options &o = {},
               duration limit = for_ever)
    {
        detail::check(zcrp_connect(&handle_, host.c_str(), port.c_str(), &o, detail::ns(limit)));
    }

    /* Owns what the C library has made. */
    explicit connection(::zcrp_connection *made) noexcept : handle_(made)
    {
    }

    connection(connection &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }

    connection &operator=(connection &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~connection()
    {
        while (zcrp_connection_close(handle_) == ZCRP_ERROR_BUSY) {
        }
    }

    entity sender() const noexcept
    {
        return entity(zcrp_connection_sender(handle_));
    }
    entity receiver() const noexcept
    {
        return entity(zcrp_connection_receiver(handle_));
    }

    /* Sends one message, and waits until the peer has acknowledged it. A literal such as "hello" is
     * an array, and is sent with the NUL at its end; std::string and std::string_view have none. */
    void send(const_bytes memory)
    {
        message m(memory);

        sender().submit(m);
        (void)m.wait();
    }

    /* Receives one message into place. Its bytes. Throws end_of_stream if the peer has closed, and
     * all that it sent was received. */
    [[nodiscard]] std::size_t receive(bytes memory)
    {
        message m(memory);

        receiver().submit(m);
        int code = zcrp_wait_for(m.get(), -1);
        if (code == ZCRP_ERROR_PEER_CLOSED)
            throw end_of_stream();
        detail::check(code);
        return m.length();
    }

    /* Receives the next message, of whatever size, into memory of its own; none: the peer has
     * closed, and all that it sent was received. Waits. The peer says the size: one above `most`
     * throws ZCRP_ERROR_TOO_LARGE, and the message stays where it is until something larger is
     * posted. */
    [[nodiscard]] std::optional<message> receive(std::size_t most = std::size_t{1} << 30)
    {
        nlong size = 0;
        int code = zcrp_expect(receiver().get(), &size, -1);

        if (code == ZCRP_ERROR_PEER_CLOSED)
            return std::nullopt;
        detail::check(code);
        if (size > most)
            throw error(ZCRP_ERROR_TOO_LARGE);
        message m(static_cast<std::size_t>(size));
        receiver().submit(m);
        code = zcrp_wait_for(m.get(), -1);
        if (code == ZCRP_ERROR_PEER_CLOSED)
            return std::nullopt; /* it has cancelled what it had announced */
        detail::check(code);
        return m;
    }

    /* What messages() walks over. It refers to the connection. */
    class range
    {
      public:
        class iterator
        {
          public:
            message &operator*() const
            {
                return *range_->next_;
            }

            iterator &operator++()
            {
                range_->advance();
                return *this;
            }

            bool operator!=(std::nullptr_t) const noexcept
            {
                return range_->next_.has_value();
            }

          private:
            friend class range;

            explicit iterator(range *r) noexcept : range_(r)
            {
            }

            range *range_;
        };

        iterator begin()
        {
            advance();
            return iterator(this);
        }

        std::nullptr_t end() const noexcept
        {
            return nullptr;
        }

      private:
        friend class connection;

        range(connection *c, std::size_t most) noexcept : connection_(c), most_(most)
        {
        }

        void advance()
        {
            next_ = connection_->receive(most_);
        }

        connection *connection_;
        std::size_t most_;
        std::optional<message> next_;
    };

    /* The messages that come, one by one as by receive(most), until the peer closes:
     *
     *     for (zcrp::message &m : peer.messages())
     *         use(m.data(), m.length()); */
    range messages(std::size_t most = std::size_t{1} << 30)
    {
        return range(this, most);
    }

    /* True once the peer has closed: nothing more arrives. */
    bool end() const noexcept
    {
        return status() == ZCRP_ERROR_PEER_CLOSED;
    }

    /* A message whose memory a peer on this host may map (options.mapped_bytes). The peer
     * can read that memory: zcrp_connection_alloc_msg. */
    message make_message(std::size_t size)
    {
        return message(zcrp_connection_alloc_msg(handle_, size));
    }

    /* The first messages of a listener's connection (options.first_messages). It waits for the end
     * of this one, and throws why it failed. The bytes are the connection's, and good until the
     * close: zcrp_connection_first. */
    std::pair<const void *, std::size_t> first(unsigned index = 0) const
    {
        ::zcrp_msg *m = zcrp_connection_first(handle_, index);

        detail::check(zcrp_wait_for(m, -1));
        return {m->buffer, static_cast<std::size_t>(m->length)};
    }

    /* ZCRP_OK while the peer is there, or how the connection has ended. */
    int status() const noexcept
    {
        return zcrp_connection_status(handle_);
    }

    /* "192.0.2.1:7000" */
    std::string peer() const
    {
        char text[64];

        detail::check(zcrp_connection_peer(handle_, text, sizeof text));
        return text;
    }

    /* The peer's authenticated identity. Throws ZCRP_ERROR_IDLE without keys. */
    std::string identity() const
    {
        char text[ZCRP_KEYS_IDENTITY_MOST + 1];

        detail::check(zcrp_connection_identity(handle_, text, sizeof text));
        return text;
    }

    void interrupt() noexcept
    {
        (void)zcrp_connection_interrupt(handle_);
    }

    /* Throws ZCRP_ERROR_TIMEOUT if the peer did not confirm; it is closed nevertheless. */
    void close()
    {
        int code = zcrp_connection_close(handle_);

        if (code != ZCRP_ERROR_BUSY)
            handle_ = nullptr;
        detail::check(code);
    }

    ::zcrp_connection *get() const noexcept
    {
        return handle_;
    }

  private:
    ::zcrp_connection *handle_ = nullptr;
};

/* Serves any number of peers on one port. */
class listener
{
  public:
    /* Host "": any address of this machine, IPv4 and IPv6. Port "0": the system finds one. */
    explicit listener(const std::string &host, const std::string &port = "0", const options &o = {})
    {
        const char *name = host.empty() ? nullptr : host.c_str();

        detail::check(zcrp_listen(&handle_, name, port.c_str(), &o));
    }

    listener(listener &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }

    listener &operator=(listener &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~listener()
    {
        (void)zcrp_listener_close(handle_);
    }

    connection accept()
    {
        ::zcrp_connection *made = nullptr;

        detail::check(zcrp_accept(handle_, &made, -1));
        return connection(made);
    }

    /* None: the time passed. */
    std::optional<connection> accept_for(duration limit)
    {
        ::zcrp_connection *made = nullptr;
        int code = zcrp_accept(handle_, &made, detail::ns(limit));

        if (code == ZCRP_ERROR_TIMEOUT)
            return std::nullopt;
        detail::check(code);
        return connection(made);
    }

    int port() const
    {
        return detail::check(zcrp_listener_port(handle_));
    }
    int descriptor()
    {
        return detail::check(zcrp_listener_descriptor(handle_));
    }
    void interrupt() noexcept
    {
        (void)zcrp_listener_interrupt(handle_);
    }
    ::zcrp_listener *get() const noexcept
    {
        return handle_;
    }

  private:
    ::zcrp_listener *handle_ = nullptr;
};

using completion = ::zcrp_completion;

/* Tells what has happened to entities, connections and listeners, as zcrp_queue_open and the
 * functions behind it say. What is added stays its owner's. Closing or destroying that removes it;
 * moving does not. The context comes back with each completion:
 *
 *     zcrp::queue events;
 *     events.add(there);
 *     zcrp::completion found[64];
 *     for (;;)
 *         for (const zcrp::completion &c : events.take(found))
 *             if (c.kind == ZCRP_PEER_CALLED) ... */
class queue
{
  public:
    queue()
    {
        detail::check(zcrp_queue_open(&handle_));
    }

    queue(queue &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
    {
    }

    queue &operator=(queue &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    ~queue()
    {
        (void)zcrp_queue_close(handle_);
    }

    void add(const entity &e, void *context = nullptr)
    {
        detail::check(zcrp_queue_add(handle_, e.get(), context));
    }
    void add(const connection &c, void *context = nullptr)
    {
        detail::check(zcrp_queue_add_connection(handle_, c.get(), context));
    }
    void add(const listener &l, void *context = nullptr)
    {
        detail::check(zcrp_queue_add_listener(handle_, l.get(), context));
    }

    void remove(const entity &e)
    {
        detail::check(zcrp_queue_remove(handle_, e.get()));
    }
    void remove(const connection &c)
    {
        detail::check(zcrp_queue_remove_connection(handle_, c.get()));
    }
    void remove(const listener &l)
    {
        detail::check(zcrp_queue_remove_listener(handle_, l.get()));
    }

    /* Completions that were taken, in the caller's array. */
    class taken
    {
      public:
        const completion *begin() const noexcept
        {
            return first_;
        }
        const completion *end() const noexcept
        {
            return first_ + size_;
        }
        std::size_t size() const noexcept
        {
            return size_;
        }
        bool empty() const noexcept
        {
            return size_ == 0;
        }
        const completion &operator[](std::size_t index) const noexcept
        {
            return first_[index];
        }

      private:
        friend class queue;

        taken(const completion *first, std::size_t size) noexcept : first_(first), size_(size)
        {
        }

        const completion *first_;
        std::size_t size_;
    };

    /* Takes as many as there are, and the array has room for. Waits for the first, at most that
     * long; none: the time passed. 0 does not wait, and receives what has come. Throws
     * ZCRP_ERROR_INTERRUPTED, and _CLOSED. */
    template <std::size_t most> taken take(completion (&room)[most], duration limit = for_ever)
    {
        return take(room, most, limit);
    }
    taken take(completion *room, std::size_t most, duration limit = for_ever)
    {
        int count = zcrp_queue_take(handle_, room, static_cast<int>(most), detail::ns(limit));

        return taken(room, static_cast<std::size_t>(detail::check(count)));
    }

    /* Readable when there may be something to take; the queue's. */
    int descriptor()
    {
        return detail::check(zcrp_queue_descriptor(handle_));
    }

    /* Ends the takes that wait. A signal handler may call it. */
    void interrupt() noexcept
    {
        (void)zcrp_queue_interrupt(handle_);
    }

    ::zcrp_queue *get() const noexcept
    {
        return handle_;
    }

  private:
    ::zcrp_queue *handle_ = nullptr;
};

} // namespace zcrp

#endif
