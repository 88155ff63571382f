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

-- ---- SHA-256 (FIPS 180-4)

-- The first 32 bits behind the point of a number.
local function fraction(number)
    return floor(number % 1 * WORD)
end

local function primes(count)
    local found, number = {}, 2
    while #found < count do
        local is_prime = true
        for _, prime in ipairs(found) do
            is_prime = is_prime and number % prime ~= 0
        end
        if is_prime then
            found[#found + 1] = number
        end
        number = number + 1
    end
    return found
end

-- A cube root has more bits than `^` computes rightly, so one step of Newton's follows. (x^3 is
-- below 2^9, so the error of the difference is small enough.)
local function cube_root(number)
    local root = number ^ (1 / 3)
    return root - (root * root * root - number) / (3 * root * root)
end

local round_constants, first_state = {}, {}
for i, prime in ipairs(primes(64)) do
    round_constants[i] = fraction(cube_root(prime))
    first_state[i] = i <= 8 and fraction(prime ^ 0.5) or nil
end

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
    local state, size = first_state, #text
    local padded = text .. "\128" .. ("\0"):rep(-(size + 9) % 64) .. word_bytes(floor(size / 2 ^ 29)) ..
        word_bytes(size * 8 % WORD)
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

-- The lengths in bits at the end of what is hashed.
local function bits_of(size)
    return word_bytes(floor(size / 2 ^ 29)) .. word_bytes(size * 8 % WORD)
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

-- Numbers are six limbs of 22 bits, the lowest first: the products of limbs, added up and times 20,
-- are below 2^53, so a double holds them. 2^132 is 20 modulo 2^130 - 5.
local LIMB, LIMBS = 2 ^ 22, 6

-- Of at most 17 bytes, the low one first.
local function limbs_of(bytes)
    local limbs, value, bits = {}, 0, 0
    for at = 1, #bytes do
        value, bits = value + byte(bytes, at) * 2 ^ bits, bits + 8
        if bits >= 22 then
            limbs[#limbs + 1] = value % LIMB
            value, bits = floor(value / LIMB), bits - 22
        end
    end
    limbs[#limbs + 1] = value
    for i = #limbs + 1, LIMBS do
        limbs[i] = 0
    end
    return limbs
end

local function carry(limbs)
    for _ = 1, 2 do
        local over = 0
        for i = 1, LIMBS do
            local value = limbs[i] + over
            limbs[i], over = value % LIMB, floor(value / LIMB)
        end
        limbs[1] = limbs[1] + over * 20
    end
    return limbs
end

local function multiply(x, y)
    local product = {}
    for i = 1, LIMBS do
        local low, high = 0, 0
        for j = 1, LIMBS do
            if j <= i then
                low = low + x[j] * y[i - j + 1]
            else
                high = high + x[j] * y[i - j + 1 + LIMBS]
            end
        end
        product[i] = low + 20 * high
    end
    return carry(product)
end

-- The remainder of division by 2^130 - 5 plus another number, as 16 bytes.
local function finish(limbs, other)
    for _ = 1, 2 do -- what stands above 2^130, that is above 20 bits of the highest limb
        local over = floor(limbs[LIMBS] / 2 ^ 20)
        limbs[LIMBS], limbs[1] = limbs[LIMBS] % 2 ^ 20, limbs[1] + 5 * over
        carry(limbs)
    end
    local less = {unpack(limbs)}
    less[1] = less[1] + 5
    carry(less)
    if less[LIMBS] >= 2 ^ 20 then
        less[LIMBS] = less[LIMBS] - 2 ^ 20
        limbs = less
    end
    local bytes, value, bits, next_limb, over = {}, 0, 0, 1, 0
    for at = 1, 16 do
        if bits < 8 then
            value, bits, next_limb = value + (limbs[next_limb] or 0) * 2 ^ bits, bits + 22, next_limb + 1
        end
        local sum = value % 256 + byte(other, at) + over
        bytes[at], over = char(floor(sum % 256)), floor(sum / 256)
        value, bits = floor(value / 256), bits - 8
    end
    return table.concat(bytes)
end

function crypto.poly1305(key, text)
    local clamp = {[4] = 16, [8] = 16, [12] = 16, [16] = 16, [5] = 252, [9] = 252, [13] = 252}
    local parts = {}
    for at = 1, 16 do
        local value, kind = byte(key, at), clamp[at]
        parts[at] = char(kind == 16 and value % 16 or kind == 252 and value - value % 4 or value)
    end
    local r, sum = limbs_of(table.concat(parts)), {0, 0, 0, 0, 0, 0}
    for at = 1, #text, 16 do
        local block = limbs_of(sub(text, at, at + 15) .. "\1")
        for i = 1, LIMBS do
            sum[i] = sum[i] + block[i]
        end
        sum = multiply(carry(sum), r)
    end
    return finish(sum, sub(key, 17, 32))
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
