import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string) => createHash('sha256').update(text).digest();

/** Timing-safe string comparison: its duration does not depend on where the strings differ. */
export function sameSecret(a: string, b: string): boolean {
	return timingSafeEqual(digest(a), digest(b));
}
