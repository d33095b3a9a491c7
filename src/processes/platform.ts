/** Operating-system specifics. All other code is platform-independent. */
export interface Platform {
	/**
	 * Identifies the boot and, where supported, the process namespace. Process IDs are comparable if the values are
	 * equal.
	 */
	bootId(): Promise<string>;
	/**
	 * Process start time in a system-specific format, or null if the process does not exist. Together with the boot ID,
	 * identifies the process.
	 */
	processStart(pid: number): Promise<string | null>;
	/** Per-user folder for data that persists across reboots. */
	dataFolder(environment: NodeJS.ProcessEnv): string;
	/** Per-user folders for sockets and tokens, in order of preference. Clients search all of them. */
	runtimeFolders(environment: NodeJS.ProcessEnv): string[];
	/** Returns the server socket path for a runtime folder and an alphanumeric name. */
	socketPath(runtimeFolder: string, name: string): string;
	/** Whether files have owners and modes that can be checked. */
	readonly hasFileOwners: boolean;
}
