/** What differs between operating systems; everything else of the product is the same on all of them. */
export interface Platform {
	/** Names the boot and, where there are such, the process namespace: two equal values share their process ids. */
	bootId(): Promise<string>;
	/** Start time of a process in the system's own words; null when no such process lives. With the boot it names it. */
	processStart(pid: number): Promise<string | null>;
	/** Per-user folder for what outlives a boot. */
	dataFolder(environment: NodeJS.ProcessEnv): string;
	/** Per-user folders for sockets and tokens, best first; a client looks in all of them. */
	runtimeFolders(environment: NodeJS.ProcessEnv): string[];
	/** Where a server listens, given the runtime folder and a name made of letters and digits. */
	socketPath(runtimeFolder: string, name: string): string;
	/** Whether files have an owner and a mode that can be checked. */
	readonly hasFileOwners: boolean;
}
