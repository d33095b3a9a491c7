/** What a reward host process and the one that starts it agree on, beside the messages of src/protocol/rewardHost.ts. */

/** Exit status of a host whose interpreter is too old; what it printed last says which one it is. */
export const refusedExit = 86;

/** JSON-RPC codes of the errors that a host answers with: a load that failed (data: `loadFailureSchema`), a cancellation. */
export const loadFailedCode = -31001;
export const cancelledCode = -32800;
