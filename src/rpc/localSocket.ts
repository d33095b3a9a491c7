import { chmod, rm } from 'node:fs/promises';
import type { Server } from 'node:net';

/**
 * Starts listening on a local socket (on Windows, a named pipe) that only this user can open. The server does not keep
 * the process alive, and its later errors are ignored, because each connection has its own.
 */
export async function listenOn(server: Server, path: string): Promise<void> {
	const isFile = process.platform !== 'win32';
	if (isFile) await rm(path, { force: true });
	await new Promise<void>((resolve, reject) => {
		server.once('error', reject);
		server.listen(path, () => {
			server.off('error', reject);
			resolve();
		});
	});
	if (isFile) await chmod(path, 0o600);
	server.on('error', () => undefined);
	server.unref();
}
