import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import { withoutEnvironmentEnding } from '../environmentLanguage.ts';

export const environmentTargets = ['trl', 'verifiers', 'openenv'] as const;
export type EnvironmentTarget = (typeof environmentTargets)[number];

/** Input to an export. */
export interface ExportedEnvironment {
	readonly environment: EnvironmentDescription;
	/** Name of the exported package: `number_guess_env`. */
	readonly stem: string;
	/** Name of the environment file, for headings. */
	readonly source: string;
	/** Names of the columns in all rows; null without a dataset. */
	readonly columns: readonly string[] | null;
}

/** Text files by path in the target folder, with `/` as the separator. */
export type ExportedFiles = ReadonlyMap<string, string>;

/** A feature that does not carry over to the target. */
export interface ExportFinding {
	/** `error`: the export does not work until this is fixed. */
	readonly level: 'error' | 'warning' | 'information';
	readonly message: string;
	readonly action?: string;
}

/**
 * Returns `Generated from guess.env.py by "reasoning-lab export-environment".` The text is used in docstrings and
 * comments, so characters in a file name that would end either are replaced.
 */
export function generatedBy(source: string): string {
	return `Generated from ${source.replace(/["\\]|\p{C}|\p{Zl}|\p{Zp}/gu, '_')} by "reasoning-lab export-environment".`;
}

/** Formats text as a Python string literal. */
export function pythonText(text: string): string {
	return JSON.stringify(text);
}

/** Returns the exported package name for a file: "tasks/number-guess.env.py" becomes "number_guess_env". */
export function packageOf(file: string): string {
	const name = (withoutEnvironmentEnding(file).split(/[\\/]/).at(-1) ?? '').replace(/\W+/g, '_').toLowerCase();
	return `${/^[a-z]/.test(name) ? '' : 'e_'}${name}_env`;
}

/** Module that contains a copy of the environment file. */
export function environmentModule(stem: string): string {
	return `${stem.replace(/_env$/, '')}_environment`;
}

/** Locations of the environment's code and rows in an export. */
export interface ExportPlaces {
	/** Folder of the environment file and the files it imports, with `/` at the end, or empty. */
	readonly code: string;
	readonly rows: string;
}

export function exportPlaces(target: EnvironmentTarget, stem: string): ExportPlaces {
	if (target === 'trl') return { code: '', rows: 'rows.jsonl' };
	const folder = target === 'verifiers' ? stem : 'server';
	return { code: `${folder}/environment/`, rows: `${folder}/rows.jsonl` };
}
