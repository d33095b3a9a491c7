/** The program that a script starts. */
export interface ScriptedProgram {
	/** Path of the Node executable, or of an Electron executable that runs as Node. */
	readonly node: string;
	readonly electron: boolean;
	/** Path of dist/cli.js. */
	readonly cli: string;
}

export const commandName = 'reasoning-lab';

/**
 * Returns the scripts that run the command line, by file name: one for POSIX shells and, on Windows, a .cmd file,
 * because programs other than shells find only that one. If the editor has been removed or updated, Node from PATH is
 * used.
 */
export function commandScripts(
	{ node, electron, cli }: ScriptedProgram,
	windows: boolean,
): ReadonlyMap<string, string> {
	const [program, script] = [node, cli].map((path) => `'${path.replaceAll("'", "'\\''")}'`);
	const posix = [
		'#!/bin/sh',
		'# Written by Reasoning Lab for VS Code, which replaces it after updates.',
		...(electron ? ['export ELECTRON_RUN_AS_NODE=1'] : []),
		`if [ -x ${program} ]; then exec ${program} ${script} "$@"; fi`,
		`exec node ${script} "$@"`,
		'',
	];
	const scripts = new Map([[commandName, posix.join('\n')]]);
	if (windows) {
		const quoted = (path: string) => `"${path.replaceAll('%', '%%')}"`;
		const batch = [
			'@echo off',
			'rem Written by Reasoning Lab for VS Code, which replaces it after updates.',
			'setlocal',
			...(electron ? ['set ELECTRON_RUN_AS_NODE=1'] : []),
			`if exist ${quoted(node)} (${quoted(node)} ${quoted(cli)} %*) else (node ${quoted(cli)} %*)`,
			'',
		];
		scripts.set(`${commandName}.cmd`, batch.join('\r\n'));
	}
	return scripts;
}
