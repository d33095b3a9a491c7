/**
 * Starts a program next to a watcher: a shell that waits for the end of file descriptor 3, whose other end only the process
 * that starts it holds, and then kills the group. So nothing of the program outlives that process, however it ends (a closed
 * terminal, SIGKILL), and however busy the program is. Run as `sh -c <this> sh <program> <arguments>` by the leader of a
 * process group, with a pipe as file descriptor 3.
 */
export const underWatch = '( (read _ <&3; kill -9 -$$) >/dev/null 2>&1 & ); exec "$@" 3<&-';
