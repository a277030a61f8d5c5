-- SPDX-License-Identifier: GPL-2.0-or-later
-- LuaJIT's names for the code that it compiles, as a map for perf and moca:
--
--   LUA_PATH='/usr/share/doc/moca/examples/?.lua;;' \
--           moca record --stacks -- luajit -l luajit-perfmap app.lua
--
-- Each trace is called by the line of source that it begins at. Debian's LuaJIT writes
-- no map by itself.
local ffi = require("ffi")
local util = require("jit.util")

ffi.cdef "int getpid(void);"

local path = ("/tmp/perf-%d.map"):format(ffi.C.getpid())
local map = assert(io.open(path, "w"))
local begins = "?"

map:setvbuf("line")

-- "app.lua:12", or what stands for code that is not Lua's.
local function place(func, pc)
	local info = util.funcinfo(func, pc)

	return info.loc or "C function"
end

local function told(what, trace, func, pc)
	if what == "start" then
		begins = place(func, pc)
	elseif what == "stop" then
		local code, addr = util.tracemc(trace)

		if code then
			map:write(("%x %x lua %s\n"):format(addr, #code, begins))
		end
	end
end

jit.attach(told, "trace")
