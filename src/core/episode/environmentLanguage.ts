export type EnvironmentLanguage = 'python' | 'typescript';

const ending = /\.env\.(?:py|ts)$/;

/** Returns whether a path refers to an environment file. */
export function isEnvironmentFile(path: string): boolean {
	return ending.test(path);
}

export function environmentLanguage(path: string): EnvironmentLanguage {
	return path.endsWith('.env.ts') ? 'typescript' : 'python';
}

/** Removes the extension of an environment file: "tasks/guess.env.py" becomes "tasks/guess". */
export function withoutEnvironmentEnding(path: string): string {
	return path.replace(ending, '');
}

/** Returns the path to the labeled episodes, next to the environment: "guess.env.py" -> "guess.episodes.jsonl". */
export function episodesPath(environmentFile: string): string {
	return `${withoutEnvironmentEnding(environmentFile)}.episodes.jsonl`;
}
