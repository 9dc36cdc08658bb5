export { type Listening, listenOnLoopback } from '../../packages/http2/test/listen-on-loopback.ts';
