/**
 * Contract between a reward host and the process that starts it, in addition to the messages in
 * src/protocol/rewardHost.ts.
 */

/** Exit code of a host whose interpreter is too old. The last line of its output contains the version. */
export const refusedExit = 86;

/** JSON-RPC codes for host errors: load failures (data: `loadFailureSchema`) and cancellations. */
export const loadFailedCode = -31001;
export const canceledCode = -32800;
