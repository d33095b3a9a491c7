import { execFileSync } from 'node:child_process';
import type { Random } from '../../src/base/random.ts';

const vocabulary = Array.from({ length: 4000 }, (_, i) => (i * 2654435761).toString(36).slice(0, 3 + (i % 7)));

/** Text that compresses about as well as a transcript. */
export function words(random: Random, characters: number): string {
	let text = '';
	while (text.length < characters) text += `${random.pick(vocabulary)} `;
	return text;
}

export async function timed<T>(work: () => Promise<T>): Promise<{ seconds: number; value: T }> {
	const started = performance.now();
	const value = await work();
	return { seconds: (performance.now() - started) / 1000, value };
}

/** Runs a Python program that prints a number of seconds. */
export function pythonSeconds(python: string, program: string, ...args: string[]): number {
	const printed = execFileSync(python, ['-c', program, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
	return Number(printed.trim().split('\n').at(-1));
}
