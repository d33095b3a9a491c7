/** Where an engine can be reached: never read from a run folder, always derived. */
export interface ControlLocation {
	/** A Unix domain socket, or on Windows a named pipe. */
	readonly socketPath: string;
	/** A file that only the user can read; holds the secret that `initialize` must show. */
	readonly tokenPath: string;
}
