import { lstat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../base/failure.ts';
import type { StartOptions } from '../runs/startRun.ts';
import { settings } from './settings.ts';

/** Fails in an untrusted workspace, because training runs programs. */
export function requireTrust(): void {
	if (vscode.workspace.isTrusted) return;
	throw new Failure(
		'denied',
		'Training is disabled because this workspace is not trusted.',
		'Trust the workspace, then try again.',
	);
}

/** Returns the paths of the engines and of Node. Fails with `missing` if one of them does not exist. */
export async function launchSettings(extension: vscode.Uri): Promise<Pick<StartOptions, 'engine' | 'node'>> {
	const engine = join(extension.fsPath, 'dist', 'engine.js');
	if (!(await isFile(engine))) {
		throw new Failure('missing', `The engine file ${engine} is missing.`, 'Reinstall Reasoning Lab.');
	}
	const node = settings.nodePath();
	if (node === null) return { engine };
	if (isAbsolute(node) && !(await isFile(node))) {
		throw new Failure(
			'missing',
			`The setting reasoningLab.node.path is ${node}, which does not exist.`,
			'Fix the path.',
		);
	}
	return { engine, node };
}

async function isFile(path: string): Promise<boolean> {
	const stat = await lstat(path).catch(() => null);
	return stat !== null && !stat.isDirectory();
}
