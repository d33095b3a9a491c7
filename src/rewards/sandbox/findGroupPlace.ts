import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { posix } from 'node:path';

/** Controllers required for sandbox limits. */
export const groupControllers = ['memory', 'pids'] as const;

/** Contents of /proc/self/mountinfo and /proc/self/cgroup. */
export interface GroupFacts {
	readonly mountinfo: string;
	readonly cgroup: string;
}

/** A control group in which this process may create others. */
export interface GroupPlace {
	readonly folder: string;
	/** Whether its controllers must be enabled for subgroups first. */
	readonly enable: boolean;
}

/**
 * Finds the nearest control group (version 2), from this process's own upward, where the process can create groups with
 * memory and process limits. If there is none, returns a phrase explaining why. A group that contains processes cannot
 * delegate controllers, so the result is usually a parent: a slice of the user's systemd instance, or the root group.
 */
export async function findGroupPlace(
	{ mountinfo, cgroup }: GroupFacts,
	mayWrite: (path: string) => Promise<boolean> = isWritable,
): Promise<GroupPlace | { readonly missing: string }> {
	const own = ownGroup(mountinfo, cgroup);
	if (own === null) return { missing: 'cgroups v2 is not mounted' };
	let missing = 'no control group is delegated to this user';
	for (let folder = own.folder; ; folder = posix.dirname(folder)) {
		const [offered, handedOn, type, processes] = await Promise.all(
			['cgroup.controllers', 'cgroup.subtree_control', 'cgroup.type', 'cgroup.procs'].map((name) =>
				words(`${folder}/${name}`),
			),
		);
		if (folder === own.folder && !hasAll(offered)) missing = 'the memory and pids controllers are not delegated';
		// Moving a program requires write permission for the nearest common ancestor of both groups.
		const writable = (await mayWrite(folder)) && (await mayWrite(`${folder}/cgroup.procs`));
		if (writable && hasAll(handedOn)) return { folder, enable: false };
		if (writable && hasAll(offered)) {
			// Only the root group has no type. It is allowed to contain processes.
			const mayHandOn = type?.length === 0 || processes?.length === 0;
			if (mayHandOn && (await mayWrite(`${folder}/cgroup.subtree_control`))) return { folder, enable: true };
			missing = "this process's control group contains other processes, and no parent group is delegated";
		}
		if (folder === own.mount || folder === '/') return { missing };
	}
}

/** Returns the cgroup mount that contains this process's group, and the group's folder there. */
function ownGroup(mountinfo: string, cgroup: string): { readonly mount: string; readonly folder: string } | null {
	const own = /^0::(\/.*)$/m.exec(cgroup)?.[1];
	if (own === undefined) return null;
	// If mounts are stacked, the last one is visible.
	for (const line of mountinfo.split('\n').reverse()) {
		// `id parent device root mountpoint options [fields...] - type source options`
		const [before = '', after = ''] = line.split(' - ');
		if (!after.startsWith('cgroup2 ')) continue;
		const [, , , root = '', mount = ''] = before.split(' ').map(unescaped);
		const way = posix.relative(root, own);
		// A group outside this process's namespace has a path that contains `..`.
		if (!`${root}/${own}/${way}`.split('/').includes('..')) return { mount, folder: posix.join(mount, way) };
	}
	return null;
}

/** Decodes spaces and other characters that are octal escapes in mountinfo. */
function unescaped(text: string): string {
	return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

async function words(file: string): Promise<string[]> {
	return (await readFile(file, 'utf8').catch(() => '')).split(/\s+/).filter((word) => word !== '');
}

function hasAll(list: readonly string[] = []): boolean {
	return groupControllers.every((name) => list.includes(name));
}

function isWritable(path: string): Promise<boolean> {
	return access(path, constants.W_OK).then(
		() => true,
		() => false,
	);
}
