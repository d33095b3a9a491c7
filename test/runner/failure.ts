/**
 * Formats a failure for the summary: what failed, where in our own code, and the command that reruns only that test.
 */
import { readFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from '../scripts/paths.ts';
import { commands } from './commands.ts';
import type { Outcome } from './outcome.ts';
import { checks } from './suites.ts';

export interface Place {
	/** Path relative to the project folder. */
	readonly file: string;
	readonly line: number;
}

/** Returns the stack frames in our own code, innermost first, excluding packages and the runner. */
export function ownPlaces(stack: string, folder = root): Place[] {
	const places: Place[] = [];
	for (const [, url, path, line] of stack.matchAll(
		/(?:(file:\/\/[^\s()]+?)|((?:\/|[A-Z]:\\)[^\s():]+)):(\d+)(?::\d+)?/g,
	)) {
		const absolute = url === undefined ? (path ?? '') : pathOf(url);
		if (absolute === undefined) continue;
		const file = relative(folder, absolute)
			.replaceAll('\\', '/')
			.replace(/\?file=\d+$/, '');
		if (file.startsWith('..') || isAbsolute(file) || /(^|\/)node_modules\/|^test\/runner\//.test(file)) continue;
		if (!places.some((place) => place.file === file && place.line === Number(line)))
			places.push({ file, line: Number(line) });
	}
	return places;
}

function pathOf(url: string): string | undefined {
	try {
		return fileURLToPath(url);
	} catch {
		return undefined;
	}
}

/** Formats `file:line` with its source text. */
function placeText({ file, line }: Place): string {
	let source = '';
	try {
		source = readFileSync(join(root, file), 'utf8').split('\n')[line - 1]?.trim() ?? '';
	} catch {
		// The file was a temporary one.
	}
	return `${file}:${line}${source === '' ? '' : `   ${source}`}`;
}

/** Returns the shell command that runs only this test. @param file path relative to the project folder */
export function commandFor(file: string, filter: string | undefined): string {
	const slow = /^test\/acceptance\/(.+)\.test\.ts$/.exec(file)?.[1];
	const command = slow === undefined ? `npm test -- ${file}` : `npm run acceptance -- ${slow}`;
	if (filter === undefined) return command;
	const pattern = filter.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
	return `${command} --name '${pattern.replaceAll("'", "'\\''")}'`;
}

/** @param file path of the test, relative to the project folder; '' for a project-wide check */
export function failureText(phase: string, file: string, { name, filter, failure }: Outcome): string {
	const places = ownPlaces(failure?.stack ?? '');
	// A frame in a shared helper does not show which line of the test failed, so add one in the test file.
	const shown = places.filter((place, i) => i === 0 || place.file === file).slice(0, 2);
	const message = (failure?.message ?? '').trimEnd().split('\n').slice(0, maxMessageLines);
	const check = checks.find((other) => other === phase);
	const testCommand = file === '' ? [] : [commandFor(file, filter)];
	return [
		...(check === undefined ? [`${phase}: ${file}`, `  ${name}`] : [check]),
		...message.map((line) => `    ${line}`),
		...shown.map((place) => `    at ${placeText(place)}`),
		...(check === undefined ? testCommand : [commands[check].alone]).map((command) => `    ${command}`),
	].join('\n');
}

/** Maximum number of message lines in the summary. The full message is printed earlier, where the test failed. */
const maxMessageLines = 12;
