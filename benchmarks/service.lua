-- wrk posts the bodies in the files of BODIES (separated by ":") in turn and prints its figures as one JSON object.
local requests, turn = {}, 0

function init()
  local headers = { ["Content-Type"] = os.getenv("MEDIA_TYPE"), ["Accept"] = os.getenv("MEDIA_TYPE") }
  for name in string.gmatch(os.getenv("BODIES"), "[^:]+") do
    local file = assert(io.open(name, "rb"))
    requests[#requests + 1] = wrk.format("POST", os.getenv("TARGET"), headers, file:read("*a"))
    file:close()
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "seconds": %.3f, "p50_ms": %.3f, "p99_ms": %.3f, "max_ms": %.3f, "errors": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
