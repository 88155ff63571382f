-- Compares tools/wireshark/zcrp_crypto.lua, whose path is CRYPTO, with published vectors. Prints what is
-- wrong, and how many there are.

local crypto = dofile(CRYPTO)
local failures, count = 0, 0

local function bytes(hex)
    return (hex:gsub("%s", ""):gsub("..", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function hex(text)
    return text and (text:gsub(".", function(c) return string.format("%02x", c:byte()) end)) or "nothing"
end

local function equal(what, found, expected)
    count = count + 1
    if found ~= expected then
        failures = failures + 1
        print("crypto failed: " .. what .. ": " .. hex(found) .. " instead of " .. hex(expected))
    end
end

-- The right tag opens, and a changed one, a changed text or other bound bytes do not.
local function opens(what, cipher, v)
    local key = cipher.key(bytes(v.key))
    local nonce, bound, text, tag = bytes(v.nonce), bytes(v.bound), bytes(v.text), bytes(v.tag)
    local plain = v.is_text and v.plain or bytes(v.plain)
    equal(what, cipher.open(key, nonce, bound, text, tag), plain)
    equal(what .. ", another tag", cipher.open(key, nonce, bound, text, tag:reverse()), nil)
    equal(what .. ", other bound bytes", cipher.open(key, nonce, bound .. "x", text, tag), nil)
    equal(what .. ", a longer text", cipher.open(key, nonce, bound, text .. "x", tag), nil)
end

-- ---- SHA-256: FIPS 180-2, B; and a text of each length around a block, hashed as one

equal("sha256, nothing", crypto.sha256(""),
    bytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
equal("sha256, abc", crypto.sha256("abc"),
    bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
equal("sha256, two blocks", crypto.sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
    bytes("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"))
local hashes = {}
for size = 50, 130 do
    hashes[#hashes + 1] = crypto.sha256(("a"):rep(size))
end
equal("sha256, 50 to 130 bytes", crypto.sha256(table.concat(hashes)),
    bytes("6485cdf4ab53e7fa77c8e7d0d81ef2aa322b937252f7dbf9b356cd470b7d20fd"))

-- ---- HMAC: RFC 4231, 4.2, 4.3 and 4.7

equal("hmac 1", crypto.hmac(("\11"):rep(20), "Hi There"),
    bytes("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"))
equal("hmac 2", crypto.hmac("Jefe", "what do ya want for nothing?"),
    bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
equal("hmac 6", crypto.hmac(("\170"):rep(131), "Test Using Larger Than Block-Size Key - Hash Key First"),
    bytes("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"))

-- ---- HKDF-Expand-Label: RFC 8448, 3 (the server's handshake keys); RFC 9001, A.1

local secret = bytes("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38")
equal("label key", crypto.expand_label(secret, "key", 16), bytes("3fce516009c21727d0f2e4e86ee403bc"))
equal("label iv", crypto.expand_label(secret, "iv", 12), bytes("5d313eb2671276ee13000b30"))
equal("label finished", crypto.expand_label(secret, "finished", 32),
    bytes("008d3b66f816ea559f96b537e885c31fc068bf492c652f01f288a1d8cdc19fc8"))
local initial = bytes("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea")
equal("label quic key", crypto.expand_label(initial, "quic key", 16),
    bytes("1f369613dd76d5467730efcbe3b1a22d"))
equal("label of two blocks", crypto.expand_label(secret, "key", 40):sub(1, 32) ==
    crypto.expand_label(secret, "key", 40):sub(9, 40), false)

-- ---- AES-128-GCM: the cases 1 to 4 of "The Galois/Counter Mode of Operation", B

local aes, chacha = crypto.ciphers[1], crypto.ciphers[2]
local text = [[42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
    21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985]]
local plain = [[d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255]]
local zero = ("0"):rep(32)

opens("aes 1", aes, {key = zero, nonce = ("0"):rep(24), bound = "", text = "", plain = "",
    tag = "58e2fccefa7e3061367f1d57a4e7455a"})
opens("aes 2", aes, {key = zero, nonce = ("0"):rep(24), bound = "", plain = zero,
    text = "0388dace60b6a392f328c2b971b2fe78", tag = "ab6e47d42cec13bdf53a67b21257bddf"})
opens("aes 3", aes, {key = "feffe9928665731c6d6a8f9467308308", nonce = "cafebabefacedbaddecaf888",
    bound = "", text = text, plain = plain, tag = "4d5c2af327cd64a62cf35abd2ba6fab4"})
opens("aes 4", aes, {key = "feffe9928665731c6d6a8f9467308308", nonce = "cafebabefacedbaddecaf888",
    bound = "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    text = text:sub(1, -9), plain = plain:sub(1, -9), tag = "5bc94fbc3221a5db94fae95ae7121a47"})

-- ---- ChaCha20-Poly1305: RFC 8439, 2.5.2, A.3 (the cases at the edges of the prime), 2.8.2

equal("poly1305", crypto.poly1305(
    bytes("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b"),
    "Cryptographic Forum Research Group"), bytes("a8061dc1305136c6c22b8baf0c0127a9"))
local edges = {
    {"02", "", ("f"):rep(32), "03"},
    {"02", ("f"):rep(32), "02" .. ("0"):rep(30), "03"},
    {"01", "", ("f"):rep(32) .. "f0" .. ("f"):rep(30) .. "11" .. ("0"):rep(30), "05"},
    {"01", "", ("f"):rep(32) .. "fbfefefefefefefefefefefefefefefe" .. ("01"):rep(16), ""},
    {"02", "", "fd" .. ("f"):rep(30), "fa" .. ("f"):rep(30)},
    {"0100000000000000040000000000000000", "", "e33594d7505e43b900000000000000003394d7505e4379cd01" ..
        ("0"):rep(46) .. "01" .. ("0"):rep(30), "14000000000000005500000000000000"},
    {"0100000000000000040000000000000000", "", "e33594d7505e43b900000000000000003394d7505e4379cd01" ..
        ("0"):rep(46), "13"},
}
for i, edge in ipairs(edges) do
    local r, s = edge[1]:sub(1, 32), edge[2]
    local key = bytes(r .. ("0"):rep(32 - #r) .. s .. ("0"):rep(32 - #s))
    equal("poly1305, A.3, " .. i + 6, crypto.poly1305(key, bytes(edge[3])),
        bytes(edge[4] .. ("0"):rep(32 - #edge[4])))
end

opens("chacha20-poly1305", chacha, {
    key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
    nonce = "070000004041424344454647", bound = "50515253c0c1c2c3c4c5c6c7",
    text = [[d31a8d34648e60db7b86afbc53ef7ec2 a4aded51296e08fea9e2b5a736ee62d6
        3dbea45e8ca9671282fafb69da92728b 1a71de0a9e060b2905d6a5b67ecd3b36
        92ddbd7f2d778b8c9803aee328091b58 fab324e4fad675945585808b4831d7bc
        3ff4def08e4b7a9de576d26586cec64b 6116]],
    is_text = true, plain = "Ladies and Gentlemen of the class of '99: If I could offer you " ..
        "only one tip for the future, sunscreen would be it.",
    tag = "1ae10b594f09e26a7e902ecbd0600691"})

print(string.format("crypto: %d vectors, %d failures", count, failures))
