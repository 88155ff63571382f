-- SPDX-License-Identifier: MIT
-- Opens what is sealed, for zcrp.lua, with a key log: a file of secrets that zcrp_keys_log has
-- written (the format of SSLKEYLOGFILE). After docs/protocol.md, "Which key is for what".
--
--     key log --> connections, by client random --> streams of the handshake, by side
--                             `----------------> pairings, by session and tag --> their streams
--
-- Session and tag of a pairing follow from its secrets, so a capture may begin after the handshake.
-- The log does not say which cipher was agreed on: that is tried, and the tag says which is right.

local folder = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local crypto = dofile(folder .. "zcrp_crypto.lua")

local EPOCH = 2 ^ 22     -- numbers of an epoch
local EPOCHS_MOST = 1024 -- that a number may be ahead of those that were opened
local SIDES = {"CLIENT", "SERVER"}

-- ---- streams: {connection, secrets of epochs, keys of epochs, end of the numbers opened}

local stream = {}
stream.__index = stream

local function new_stream(connection, secret)
    return setmetatable({connection = connection, secrets = {[0] = secret}, keys = {}, to = 0}, stream)
end

local function secret_of(s, epoch)
    local known = epoch
    while not s.secrets[known] do
        known = known - 1
    end
    for later = known + 1, epoch do
        s.secrets[later] = crypto.expand_label(s.secrets[later - 1], "zcrp ku", 32)
    end
    return s.secrets[epoch]
end

-- The key of an epoch, if `cipher` is what was agreed on.
local function key_of(s, epoch, cipher)
    local name = epoch .. ":" .. cipher.key_bytes
    if not s.keys[name] then
        local secret = secret_of(s, epoch)
        s.keys[name] = {key = cipher.key(crypto.expand_label(secret, "zcrp key", cipher.key_bytes)),
            iv = crypto.expand_label(secret, "zcrp iv", 12)}
    end
    return s.keys[name]
end

-- The IV, of which the last eight bytes are XORed with the number.
local function nonce_of(iv, number)
    local bytes = {iv:byte(1, 12)}
    for at = 12, 5, -1 do
        bytes[at] = crypto.xor(bytes[at], number % 256)
        number = math.floor(number / 256)
    end
    return string.char(table.unpack(bytes))
end

-- The whole of a number whose low 32 bits are known: what is nearest to those that were opened.
function stream:expand(low)
    local number = self.to - self.to % 2 ^ 32 + low
    if number + 2 ^ 31 < self.to then
        return number + 2 ^ 32
    elseif number >= self.to + 2 ^ 31 and number >= 2 ^ 32 then
        return number - 2 ^ 32
    end
    return number
end

-- The plain text, or nothing if it was not sealed with these keys. `bound` is what is authenticated
-- with it.
function stream:open(number, bound, text, tag)
    local epoch = math.floor(number / EPOCH)
    if epoch > math.floor(self.to / EPOCH) + EPOCHS_MOST then
        return nil
    end
    for _, cipher in ipairs(self.connection.cipher and {self.connection.cipher} or crypto.ciphers) do
        local epoch_key = key_of(self, epoch, cipher)
        local plain = cipher.open(epoch_key.key, nonce_of(epoch_key.iv, number), bound, text, tag)
        if plain then
            self.connection.cipher = cipher
            self.to = math.max(self.to, number + 1)
            return plain
        end
    end
end

-- ---- the log

local log = {}
log.__index = log

local function bytes_of(hex)
    return (hex:gsub("..", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function number_at(bytes, at)
    local number = 0
    for i = at, at + 3 do
        number = number * 256 + bytes:byte(i)
    end
    return number == 0 and 1 or number -- the names of a pairing are never 0
end

local function name_of(session, tag)
    return string.format("%.0f:%.0f", session, tag)
end

-- The pairing whose units are sealed with secrets that follow from `own`.
local function add_pairing(self, connection, own, other)
    local names = crypto.expand_label(own, "zcrp pairing", 8)
    self.pairings[name_of(number_at(names, 1), number_at(names, 5))] = {
        unit = new_stream(connection, crypto.expand_label(own, "zcrp unit", 32)),
        sender = new_stream(connection, crypto.expand_label(own, "zcrp sender", 32)),
        receiver = new_stream(connection, crypto.expand_label(other, "zcrp receiver", 32)),
    }
end

-- Both ends may have written the same line.
local function add_secret(self, label, random, secret)
    local connection = self.connections[random] or {handshake = {}, application = {}}
    self.connections[random] = connection
    for _, side in ipairs(SIDES) do
        if label == side .. "_HANDSHAKE_TRAFFIC_SECRET" and not connection.handshake[side] then
            connection.handshake[side] = new_stream(connection, secret)
        elseif label == side .. "_TRAFFIC_SECRET_0" then
            connection.application[side] = secret
        end
    end
    local client, server = connection.application.CLIENT, connection.application.SERVER
    if client and server and not connection.is_complete then
        connection.is_complete = true
        add_pairing(self, connection, client, server)
        add_pairing(self, connection, server, client)
    end
end

-- Reads whole lines from where reading has ended; what is no line of a key log is passed over.
local function read_on(self)
    local file = io.open(self.path, "rb")
    if not file then
        return false
    end
    if file:seek("end") > self.read_to then
        file:seek("set", self.read_to)
        local text = file:read("*a"):match("^.*\n") or ""
        self.read_to = self.read_to + #text
        for label, random, secret in text:gmatch("([%u%d_]+) (%x+) (%x+)%s*\n") do
            if #random == 64 and #secret == 64 then
                add_secret(self, label, random:lower(), bytes_of(secret))
            end
        end
    end
    file:close()
    return true
end

-- One of the three streams of a pairing ("unit", "sender", "receiver"), or nothing. A connection
-- may have been logged since, so the log is read on.
function log:of_pairing(session, tag, what)
    local name = name_of(session, tag)
    if not self.pairings[name] then
        read_on(self)
    end
    return self.pairings[name] and self.pairings[name][what]
end

-- The stream of the second level of a handshake, or nothing. `random` is in hexadecimal digits.
function log:of_handshake(random, is_server)
    local side = is_server and "SERVER" or "CLIENT"
    if not (self.connections[random] and self.connections[random].handshake[side]) then
        read_on(self)
    end
    return self.connections[random] and self.connections[random].handshake[side]
end

local keys = {}

-- The log at `path`; `is_there` says whether it can be read.
function keys.read(path)
    local self = setmetatable({path = path, read_to = 0, connections = {}, pairings = {}}, log)
    self.is_there = read_on(self)
    return self
end

return keys
