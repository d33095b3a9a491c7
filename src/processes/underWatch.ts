/**
 * Shell script that starts a program next to a watcher. The watcher waits for file descriptor 3 to close and then kills
 * the process group. The other end of that descriptor is held only by the process that runs the script, so the program
 * never outlives that process, no matter how the process ends (a closed terminal, SIGKILL) or how busy the program is.
 * Run as `sh -c <this> sh <program> <arguments>` by the leader of a process group, with a pipe as file descriptor 3.
 */
export const underWatch = '( (read _ <&3; kill -9 -$$) >/dev/null 2>&1 & ); exec "$@" 3<&-';
