# SPDX-License-Identifier: Apache-2.0
"""PromQL of the servers, jobs and maps that a dashboard's variables choose."""

SERVERS = 'job=~"$job", instance=~"$instance"'
MAPS = 'map=~"$map"'
ALIGNED = 'outcome=~"accepted|rejected"'


def of(metric, *more):
    """The series of a metric at the chosen servers; `more` are further matchers."""
    return f"{metric}{{{', '.join((SERVERS, *more))}}}"


def rate(metric, *more):
    return f"rate({of(metric, *more)}[$__rate_interval])"


def summed(expression, by=""):
    return f"sum by ({by}) ({expression})" if by else f"sum({expression})"


def rates(metric, by="", *more):
    return summed(rate(metric, *more), by)


def share(part, whole, by=""):
    """Empty, and not NaN, where there is nothing to have a share of."""
    return f"{summed(part, by)} / ({summed(whole, by)} > 0)"


def quantile(q, metric, by="", *more):
    keys = f"le, {by}" if by else "le"
    return f"histogram_quantile({q}, {rates(metric + '_bucket', keys, *more)})"


def mean(metric, by="", *more):
    return share(rate(metric + "_sum", *more), rate(metric + "_count", *more), by)


def limit(name):
    """A limit or an objective that the recording rules have: a vector without labels."""
    return f"scalar({name})"


def by_version(expression):
    """With the version of the server, of a series for each server."""
    return f"{expression} * on (job, instance) group_left (version) {of('voxloc_build_info')}"


def rejected_share(by="", *more):
    """Of the poses that were aligned, those that are not accepted."""
    results = "instance_map:voxloc_map_results:rate5m"
    return share(of(results, *more, 'outcome="rejected"'), of(results, *more), by)


def verdict_share(status):
    results = "instance_status:voxloc_align_result:rate5m"
    return share(of(results, f'status="{status}"'), of(results))


def burned(kind, window):
    """The share of answers that miss an objective, in multiples of what it allows."""
    def over(metric):
        series = of(f"instance:voxloc_scans_{metric}:rate5m")
        return f"sum_over_time({series}[{window}])"
    return f"{share(over(kind), over('answered'))} / {limit(f'objective:voxloc_scans_{kind}:ratio')}"
