import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Starts the server of an OpenEnv folder in a separate process. The caller stops the process. */
export async function openenvServer(
	python: string,
	folder: string,
): Promise<{ readonly child: ChildProcess; readonly address: string }> {
	const port = await freePort();
	const args = ['-m', 'uvicorn', 'server.app:app', '--host', '127.0.0.1', '--port', String(port)];
	const child = spawn(python, args, { cwd: folder, stdio: 'ignore' });
	const address = `http://127.0.0.1:${port}`;
	for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
		const ready = await fetch(`${address}/health`).then(
			({ ok }) => ok,
			() => false,
		);
		if (ready) return { child, address };
		await delay(200);
	}
	child.kill('SIGKILL');
	throw new Error(`The server of ${folder} did not start.`);
}

function freePort(): Promise<number> {
	return new Promise((resolve) => {
		const server = createServer().listen(0, '127.0.0.1', () => {
			const { port } = server.address() as { port: number };
			server.close(() => resolve(port));
		});
	});
}
