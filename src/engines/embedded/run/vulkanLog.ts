/**
 * Returns the name of the device that a process opened, from the log of the Vulkan loader (VK_LOADER_DEBUG=driver).
 * Returns null if it does not name one, as before loader 1.3.209, or names several.
 */
export function openedDevice(log: string): string | null {
	const names = new Set<string>();
	for (const line of log.split('\n')) {
		// The path of the driver can be truncated.
		const name = /^(?:\[Vulkan Loader\] )?(?:DRIVER|LAYER)\b[^"]*\bUsing "(.+)" with driver: "/.exec(line)?.[1];
		if (name !== undefined) names.add(name);
	}
	const [only = null] = names;
	return names.size === 1 ? only : null;
}
