/**
 * Computes unbiased pass@k for a problem with n samples, c of which are correct: 1 - C(n-c, k) / C(n, k), as a product
 * to avoid overflow (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1). NaN if n < k.
 */
export function passAtK(n: number, c: number, k: number): number {
	if (n < k || k < 1) return Number.NaN;
	if (n - c < k) return 1;
	let miss = 1;
	for (let i = n - c + 1; i <= n; i++) miss *= 1 - k / i;
	return 1 - miss;
}
