/** Location of an engine's control endpoint. Always derived, and never read from a run folder. */
export interface ControlLocation {
	/** Unix domain socket, or a named pipe on Windows. */
	readonly socketPath: string;
	/** File that only the user can read. It contains the secret to send with `initialize`. */
	readonly tokenPath: string;
}
