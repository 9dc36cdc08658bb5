export {
  type Listening,
  type LoopbackServer,
  listenOnLoopback,
} from '../../packages/http2/test/listen-on-loopback.ts';
