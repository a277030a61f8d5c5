-- SPDX-License-Identifier: GPL-2.0-or-later
-- Traces that a JIT compiles, leaves and compiles anew.
local function sieve(n)
	local t, count = {}, 0
	for i = 2, n do t[i] = true end
	for i = 2, n do
		if t[i] then
			count = count + 1
			for k = i * i, n, i do t[k] = false end
		end
	end
	return count
end
local sum = 0
for i = 1, 30 do sum = sum + sieve(20000 + i) end
print(sum)
local s = {}
for i = 1, 20000 do s[#s + 1] = (i % 3 == 0) and tostring(i) or i end
local x = 0
for _, v in ipairs(s) do
	if type(v) == "string" then x = x + #v else x = x + v end
end
print(x, #table.concat(s, ","))
local co = coroutine.wrap(function()
	for i = 1, 10000 do coroutine.yield(i) end
end)
local y = 0
for i = 1, 10000 do y = y + co() end
print(y, pcall(error, "caught"))
