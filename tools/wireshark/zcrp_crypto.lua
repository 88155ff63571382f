-- SPDX-License-Identifier: MIT
-- The cryptography that zcrp.lua needs to open what is sealed: SHA-256, HMAC, HKDF-Expand-Label,
-- AES-128-GCM and ChaCha20-Poly1305. Plain Lua, 5.2 to 5.4, because Wireshark 4.0 offers none of it.
-- Keys, texts and results are strings of bytes. It only opens, for eyes that have the keys: nothing
-- here takes care to run in constant time. tests/e2e/dissector/crypto_vectors.lua compares it with the RFCs.

local crypto = {}

local byte, char, floor, sub, unpack = string.byte, string.char, math.floor, string.sub, table.unpack
local WORD = 2 ^ 32

-- ---- bits: Lua 5.3 has operators, which 5.2 cannot even read; 5.2 has the library bit32

local function operator(text)
    local made = load("return function(a, b) return " .. text .. " end")
    return made and made()
end

local xor = operator("a ~ b") or bit32.bxor
local band = operator("a & b") or bit32.band
crypto.xor = xor
local right = operator("a >> b") or bit32.rshift
local left = operator("(a << b) & 0xffffffff") or bit32.lshift
local rotate_right = operator("(a >> b | a << 32 - b) & 0xffffffff") or bit32.rrotate
local xor4 = load("return function(a, b, c, d) return a ~ b ~ c ~ d end")
xor4 = xor4 and xor4() or bit32.bxor
local add = operator("(a + b) & 0xffffffff") or function(a, b) return (a + b) % WORD end

-- The 32-bit number whose first byte is at `at`, high byte first, and back.
local function word_at(text, at)
    local a, b, c, d = byte(text, at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
end

local function word_bytes(word)
    return char(right(word, 24), band(right(word, 16), 255), band(right(word, 8), 255), band(word, 255))
end

-- The same with the low byte first.
local function low_word_at(text, at)
    local a, b, c, d = byte(text, at, at + 3)
    return ((d * 256 + c) * 256 + b) * 256 + a
end

local function low_word_bytes(word)
    return char(band(word, 255), band(right(word, 8), 255), band(right(word, 16), 255), right(word, 24))
end

-- Two texts of one length, byte by byte.
local function xor_bytes(one, other)
    local parts = {}
    for at = 1, #one do
        parts[at] = char(xor(byte(one, at), byte(other, at)))
    end
    return table.concat(parts)
end

local function padding(size)
    return ("\0"):rep(-size % 16)
end

-- A length in bits, at the end of what is hashed.
local function bits_of(size)
    return word_bytes(floor(size / 2 ^ 29)) .. word_bytes(size * 8 % WORD)
end

-- ---- SHA-256 (FIPS 180-4)

local first_state = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
local round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2}

local function schedule(text, at)
    local w = {}
    for i = 1, 16 do
        w[i] = word_at(text, at + 4 * i - 4)
    end
    for i = 17, 64 do
        local x, y = w[i - 15], w[i - 2]
        local s0 = xor(xor(rotate_right(x, 7), rotate_right(x, 18)), right(x, 3))
        local s1 = xor(xor(rotate_right(y, 17), rotate_right(y, 19)), right(y, 10))
        w[i] = (w[i - 16] + s0 + w[i - 7] + s1) % WORD
    end
    return w
end

local function compress(state, text, at)
    local w = schedule(text, at)
    local a, b, c, d, e, f, g, h = unpack(state)
    for i = 1, 64 do
        local s1 = xor(xor(rotate_right(e, 6), rotate_right(e, 11)), rotate_right(e, 25))
        local choice = xor(g, band(e, xor(f, g)))
        local one = h + s1 + choice + round_constants[i] + w[i]
        local s0 = xor(xor(rotate_right(a, 2), rotate_right(a, 13)), rotate_right(a, 22))
        local majority = xor(band(a, b), band(c, xor(a, b)))
        h, g, f, e = g, f, e, floor((d + one) % WORD)
        d, c, b, a = c, b, a, floor((one + s0 + majority) % WORD)
    end
    local new = {a, b, c, d, e, f, g, h}
    for i = 1, 8 do
        new[i] = floor((state[i] + new[i]) % WORD)
    end
    return new
end

function crypto.sha256(text)
    local state = first_state
    local padded = text .. "\128" .. ("\0"):rep(-(#text + 9) % 64) .. bits_of(#text)
    for at = 1, #padded, 64 do
        state = compress(state, padded, at)
    end
    local parts = {}
    for i = 1, 8 do
        parts[i] = word_bytes(state[i])
    end
    return table.concat(parts)
end

-- RFC 2104.
function crypto.hmac(key, text)
    local block = #key > 64 and crypto.sha256(key) or key
    block = block .. ("\0"):rep(64 - #block)
    local inner = crypto.sha256(xor_bytes(block, ("\54"):rep(64)) .. text)
    return crypto.sha256(xor_bytes(block, ("\92"):rep(64)) .. inner)
end

-- RFC 8446, 7.1, with an empty context.
function crypto.expand_label(secret, label, size)
    local full = "tls13 " .. label
    local info = char(floor(size / 256), size % 256, #full) .. full .. "\0"
    local last, parts = "", {}
    for i = 1, math.ceil(size / 32) do
        last = crypto.hmac(secret, last .. info .. char(i))
        parts[i] = last
    end
    return sub(table.concat(parts), 1, size)
end

-- ---- AES-128 (FIPS 197)

local function double(x)
    return x >= 128 and xor(x * 2 - 256, 0x1b) or x * 2
end

-- The S-box: 3 generates all but 0, so inverses can be read off its powers.
local function make_sbox()
    local power, log, box, x = {}, {}, {[0] = 0x63}, 1
    for i = 0, 254 do
        power[i], log[x] = x, i
        x = xor(x, double(x))
    end
    for value = 1, 255 do
        local inverse = power[(255 - log[value]) % 255]
        local sum = inverse
        for shift = 1, 4 do
            sum = xor(sum, band(xor(left(inverse, shift), right(inverse, 8 - shift)), 255))
        end
        box[value] = xor(sum, 0x63)
    end
    return box
end

-- SubBytes and MixColumns of one byte in each of the four rows, as words.
local sbox, mixed = make_sbox(), {{}, {}, {}, {}}
for x = 0, 255 do
    local s = sbox[x]
    local column = ((double(s) * 256 + s) * 256 + s) * 256 + xor(double(s), s)
    for row = 1, 4 do
        mixed[row][x] = column
        column = rotate_right(column, 8)
    end
end

local function substitute(word)
    return ((sbox[right(word, 24)] * 256 + sbox[band(right(word, 16), 255)]) * 256 +
        sbox[band(right(word, 8), 255)]) * 256 + sbox[band(word, 255)]
end

-- 44 words, from 0 on.
local function aes_schedule(key)
    local w, constant = {}, 1
    for i = 0, 3 do
        w[i] = word_at(key, 4 * i + 1)
    end
    for i = 4, 43 do
        local word = w[i - 1]
        if i % 4 == 0 then
            word = xor(substitute(rotate_right(word, 24)), constant * 2 ^ 24)
            constant = double(constant)
        end
        w[i] = xor(w[i - 4], word)
    end
    return w
end

-- One block of four words.
local function aes_block(w, a, b, c, d)
    local m1, m2, m3, m4 = mixed[1], mixed[2], mixed[3], mixed[4]
    a, b, c, d = xor(a, w[0]), xor(b, w[1]), xor(c, w[2]), xor(d, w[3])
    for i = 4, 36, 4 do
        a, b, c, d =
            xor(xor4(m1[right(a, 24)], m2[band(right(b, 16), 255)], m3[band(right(c, 8), 255)],
                m4[band(d, 255)]), w[i]),
            xor(xor4(m1[right(b, 24)], m2[band(right(c, 16), 255)], m3[band(right(d, 8), 255)],
                m4[band(a, 255)]), w[i + 1]),
            xor(xor4(m1[right(c, 24)], m2[band(right(d, 16), 255)], m3[band(right(a, 8), 255)],
                m4[band(b, 255)]), w[i + 2]),
            xor(xor4(m1[right(d, 24)], m2[band(right(a, 16), 255)], m3[band(right(b, 8), 255)],
                m4[band(c, 255)]), w[i + 3])
    end
    local function last(p, q, r, s, key)
        return xor(((sbox[right(p, 24)] * 256 + sbox[band(right(q, 16), 255)]) * 256 +
            sbox[band(right(r, 8), 255)]) * 256 + sbox[band(s, 255)], key)
    end
    return last(a, b, c, d, w[40]), last(b, c, d, a, w[41]), last(c, d, a, b, w[42]),
        last(d, a, b, c, w[43])
end

-- ---- GCM (NIST SP 800-38D)

-- A bit further to the right, which is times x there.
local function times_x(a, b, c, d)
    local is_odd = d % 2 == 1
    d, c, b, a = right(d, 1) + c % 2 * 2 ^ 31, right(c, 1) + b % 2 * 2 ^ 31,
        right(b, 1) + a % 2 * 2 ^ 31, right(a, 1)
    return is_odd and xor(a, 0xe1000000) or a, b, c, d
end

-- table[place][byte] = that byte at that place of a block, times the hash key: four words.
local function ghash_tables(a, b, c, d)
    local tables = {}
    for place = 1, 16 do
        local products = {[0] = {0, 0, 0, 0}}
        for bit = 7, 0, -1 do
            local value = floor(2 ^ bit)
            products[value] = {floor(a), floor(b), floor(c), floor(d)}
            a, b, c, d = times_x(a, b, c, d)
        end
        local high = 2 -- the highest bit of the value
        for value = 3, 255 do
            high = value == 2 * high and value or high
            if value ~= high then
                local p, q = products[high], products[value - high]
                products[value] = {xor(p[1], q[1]), xor(p[2], q[2]), xor(p[3], q[3]), xor(p[4], q[4])}
            end
        end
        tables[place] = products
    end
    return tables
end

-- The hash of a text of whole blocks.
local function ghash(tables, text)
    local a, b, c, d = 0, 0, 0, 0
    for at = 1, #text, 16 do
        local w = {xor(a, word_at(text, at)), xor(b, word_at(text, at + 4)),
            xor(c, word_at(text, at + 8)), xor(d, word_at(text, at + 12))}
        a, b, c, d = 0, 0, 0, 0
        for i = 1, 4 do
            local word, place = w[i], 4 * i
            local p, q = tables[place - 3][right(word, 24)], tables[place - 2][band(right(word, 16), 255)]
            local r, s = tables[place - 1][band(right(word, 8), 255)], tables[place][band(word, 255)]
            a = xor(a, xor4(p[1], q[1], r[1], s[1]))
            b = xor(b, xor4(p[2], q[2], r[2], s[2]))
            c = xor(c, xor4(p[3], q[3], r[3], s[3]))
            d = xor(d, xor4(p[4], q[4], r[4], s[4]))
        end
    end
    return a, b, c, d
end

local function counter_mode(key, nonce, text)
    local parts, a, b, c = {}, word_at(nonce, 1), word_at(nonce, 5), word_at(nonce, 9)
    for at = 1, #text, 16 do
        local p, q, r, s = aes_block(key.words, a, b, c, 2 + (at - 1) / 16)
        local block = sub(text, at, at + 15)
        block = block .. padding(#block)
        parts[#parts + 1] = word_bytes(xor(p, word_at(block, 1))) .. word_bytes(xor(q, word_at(block, 5))) ..
            word_bytes(xor(r, word_at(block, 9))) .. word_bytes(xor(s, word_at(block, 13)))
    end
    return sub(table.concat(parts), 1, #text)
end

local function gcm_tag(key, nonce, bound, text)
    local a, b, c, d = ghash(key.tables, bound .. padding(#bound) .. text .. padding(#text) ..
        bits_of(#bound) .. bits_of(#text))
    local p, q, r, s = aes_block(key.words, word_at(nonce, 1), word_at(nonce, 5), word_at(nonce, 9), 1)
    return word_bytes(xor(a, p)) .. word_bytes(xor(b, q)) .. word_bytes(xor(c, r)) .. word_bytes(xor(d, s))
end

local aes_gcm = {key_bytes = 16}

function aes_gcm.key(bytes)
    local words = aes_schedule(bytes)
    return {words = words, tables = ghash_tables(aes_block(words, 0, 0, 0, 0))}
end

function aes_gcm.open(key, nonce, bound, text, tag)
    return gcm_tag(key, nonce, bound, text) == tag and counter_mode(key, nonce, text) or nil
end

-- ---- ChaCha20 (RFC 8439, 2.3)

local function rotate_left(word, count)
    return rotate_right(word, 32 - count)
end

local function quarter(s, a, b, c, d)
    local x, y, z, w = s[a], s[b], s[c], s[d]
    x = add(x, y); w = rotate_left(xor(w, x), 16)
    z = add(z, w); y = rotate_left(xor(y, z), 12)
    x = add(x, y); w = rotate_left(xor(w, x), 8)
    z = add(z, w); y = rotate_left(xor(y, z), 7)
    s[a], s[b], s[c], s[d] = x, y, z, w
end

-- 64 bytes of the key stream.
local function chacha_block(key, nonce, counter)
    local first, s = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, {}
    for i = 0, 7 do
        first[5 + i] = low_word_at(key, 4 * i + 1)
    end
    first[13] = counter
    for i = 0, 2 do
        first[14 + i] = low_word_at(nonce, 4 * i + 1)
    end
    for i = 1, 16 do
        s[i] = first[i]
    end
    for _ = 1, 10 do
        for i = 1, 4 do
            quarter(s, i, i + 4, i + 8, i + 12)
        end
        for i = 0, 3 do
            quarter(s, 1 + i, 5 + (i + 1) % 4, 9 + (i + 2) % 4, 13 + (i + 3) % 4)
        end
    end
    for i = 1, 16 do
        s[i] = low_word_bytes(add(s[i], first[i]))
    end
    return table.concat(s)
end

local function chacha_stream(key, nonce, text)
    local parts = {}
    for at = 1, #text, 64 do
        local block = sub(text, at, at + 63)
        parts[#parts + 1] = xor_bytes(block, chacha_block(key, nonce, floor((at + 63) / 64)))
    end
    return table.concat(parts)
end

-- ---- Poly1305 (RFC 8439, 2.5)

-- Numbers modulo 2^130 - 5 are 17 bytes, the low one first. Sums of products of bytes stay below 2^53,
-- so a double holds them. 2^136 is 320 modulo 2^130 - 5.

local function number_of(bytes)
    local number = {byte(bytes, 1, #bytes)}
    for at = #number + 1, 17 do
        number[at] = 0
    end
    return number
end

-- Makes bytes of places that became larger; what is above 2^130 comes in again below.
local function carry(number)
    for _ = 1, 2 do
        local over = 0
        for at = 1, 16 do
            over = over + number[at]
            number[at], over = over % 256, floor(over / 256)
        end
        over = over + number[17]
        number[17] = over % 4
        number[1] = number[1] + 5 * floor(over / 4)
    end
    return number
end

local function multiply(x, y)
    local product = {}
    for at = 1, 17 do
        local low, high = 0, 0
        for i = 1, at do
            low = low + x[i] * y[at + 1 - i]
        end
        for i = at + 1, 17 do
            high = high + x[i] * y[at + 18 - i]
        end
        product[at] = low + 320 * high
    end
    return carry(product)
end

local function add_to(number, other)
    for at = 1, 17 do
        number[at] = number[at] + other[at]
    end
    return number
end

function crypto.poly1305(key, text)
    local r, sum = number_of(sub(key, 1, 16)), number_of("")
    for _, at in ipairs({4, 8, 12, 16}) do -- the clamp
        r[at] = r[at] % 16
        r[at + 1] = r[at + 1] - r[at + 1] % 4
    end
    for at = 1, #text, 16 do
        sum = multiply(add_to(sum, number_of(sub(text, at, at + 15) .. "\1")), r)
    end
    carry(sum)
    local less = add_to(number_of("\5"), sum) -- is it 2^130 - 5 or more?
    for at = 1, 16 do
        less[at], less[at + 1] = less[at] % 256, less[at + 1] + floor(less[at] / 256)
    end
    sum = add_to(less[17] >= 4 and less or sum, number_of(sub(key, 17, 32)))
    for at = 1, 16 do
        sum[at], sum[at + 1] = char(floor(sum[at] % 256)), sum[at + 1] + floor(sum[at] / 256)
    end
    return table.concat(sum, "", 1, 16)
end

local chacha = {key_bytes = 32}

function chacha.key(bytes)
    return bytes
end

local function low_size(size)
    return low_word_bytes(size) .. "\0\0\0\0"
end

-- RFC 8439, 2.8.
function chacha.open(key, nonce, bound, text, tag)
    local once = sub(chacha_block(key, nonce, 0), 1, 32)
    local found = crypto.poly1305(once, bound .. padding(#bound) .. text .. padding(#text) ..
        low_size(#bound) .. low_size(#text))
    return found == tag and chacha_stream(key, nonce, text) or nil
end

-- ---- the ciphers: key(bytes) makes a key of `key_bytes` bytes; open(key, nonce, bound, text, tag)
-- returns the plain text, or nothing if the tag is wrong

crypto.ciphers = {aes_gcm, chacha}

return crypto
