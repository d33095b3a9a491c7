import { spawn } from 'node:child_process';

/** Runs a shell command and extracts its value. Throws if the command fails or prints no value. */
export async function runOther(command: string, pattern: RegExp): Promise<number> {
	const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
	let output = '';
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		output += text;
	});
	const code = await new Promise((resolve, reject) => {
		child.on('error', reject);
		child.on('close', resolve);
	});
	if (code !== 0) throw new Error(`The other program ended with status ${code}:\n${output}`);
	const figure = [...output.matchAll(pattern)].at(-1)?.[1];
	if (figure === undefined) throw new Error(`The other program printed nothing that matches ${pattern}:\n${output}`);
	return Number(figure);
}
