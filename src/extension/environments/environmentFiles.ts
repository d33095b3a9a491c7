import { isEnvironmentFile } from '../../core/episode/environmentLanguage.ts';

/** Glob pattern for environment files in a workspace. */
export const environmentFilePattern = '**/*.env.{py,ts}';

/** Returns whether a URI is an environment file on the extension host's disk, in a local or remote window. */
export function isEnvironmentUri(uri: { readonly scheme: string; readonly fsPath: string }): boolean {
	return uri.scheme === 'file' && isEnvironmentFile(uri.fsPath);
}

/** Returns the class name for a file stem: "number_guess" becomes "NumberGuess". */
export function environmentClass(stem: string): string {
	return stem.replace(/(?:^|_+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase());
}

/** Returns the 0-based line of a class statement in a text, or null. */
export function classLine(text: string, name: string): number | null {
	const statement = new RegExp(
		`^(?:export )?(?:default )?(?:abstract )?class ${name.replaceAll('$', '\\$')}(?![\\w$])`,
	);
	const line = text.split('\n').findIndex((one) => statement.test(one));
	return line < 0 ? null : line;
}
