module mixed-version-proxy/bench

go 1.24
