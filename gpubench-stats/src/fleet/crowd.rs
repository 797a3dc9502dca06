//! GPUs together. In: the effects of GPUs on a roof, and their hosts; out: their mean and variance, all or all but one, and the
//! number of GPUs that say as much if those of a host are alike.

use super::spread::GpuEffect;

/// Some GPUs together, such as all others than one.
pub(super) struct Together {
    pub(super) center: f64,
    /// The variance between them, the error of their processes included.
    pub(super) variance: f64,
    /// The share of that variance that GPUs of one host have in common.
    pub(super) common_to_host: f64,
    /// The number of GPUs that say as much as these if those of a host are alike; at most that of these.
    pub(super) independent: f64,
}

/// The GPUs that others are held against, summed up by host.
pub(super) struct Crowd<'a> {
    hosts: &'a [usize],
    /// Their numbers, in ascending order.
    members: Vec<usize>,
    by_host: Vec<Sums>,
    least_variance: f64,
}

/// The number of values, their sum and the sum of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    /// The same with so many times `value` more.
    fn with(self, times: f64, value: f64) -> Self {
        Self {
            count: self.count + times,
            sum: self.sum + times * value,
            squares: self.squares + times * value * value,
        }
    }

    /// The sum of squares around the mean. Effects are centred on zero, so that the difference loses no digits that matter.
    fn around_mean(self) -> f64 {
        (self.squares - self.sum * self.sum / self.count.max(1.0)).max(0.0)
    }
}

impl<'a> Crowd<'a> {
    pub(super) fn of(members: &[(usize, f64)], hosts: &'a [usize], least_variance: f64) -> Self {
        let mut by_host = vec![Sums::default(); hosts.iter().max().map_or(0, |last| last + 1)];
        for (number, value) in members {
            let sums = &mut by_host[hosts[*number]];
            *sums = sums.with(1.0, *value);
        }
        Self { hosts, members: members.iter().map(|(number, _)| *number).collect(), by_host, least_variance }
    }

    /// All of them. `None` if there are none.
    pub(super) fn all(&self) -> Option<Together> {
        together(&self.by_host, self.least_variance)
    }

    /// Those without a GPU. `None` if none is left.
    pub(super) fn without(&self, number: usize, gpu: &GpuEffect) -> Option<Together> {
        if self.members.binary_search(&number).is_err() {
            return self.all();
        }
        let mut by_host = self.by_host.clone();
        let sums = &mut by_host[self.hosts[number]];
        *sums = sums.with(-1.0, gpu.value);
        together(&by_host, self.least_variance)
    }
}

/// Sums up the GPUs of all hosts. `None` if there are none.
fn together(by_host: &[Sums], least_variance: f64) -> Option<Together> {
    let hosts = || by_host.iter().filter(|host| host.count > 0.5);
    let all = hosts().fold(Sums::default(), |all, host| Sums {
        count: all.count + host.count,
        sum: all.sum + host.sum,
        squares: all.squares + host.squares,
    });
    let on_host = hosts().map(|host| host.count * host.count).sum::<f64>() / all.count.max(1.0);
    let common_to_host = common_to_host(hosts(), all, on_host);
    // The number of GPUs that one counts for if those of a host are alike (the design effect of Kish, *Survey sampling*, 1965).
    let alike = 1.0 + (on_host - 1.0) * common_to_host;
    let variance = if all.count > alike { all.around_mean() / (all.count - alike) } else { 0.0 };
    (all.count > 0.5).then(|| Together {
        center: all.sum / all.count,
        variance: variance.max(least_variance),
        common_to_host,
        independent: (all.count / alike).max(1.0),
    })
}

/// The share of the variance that GPUs of one host have in common: the intraclass correlation of a one-way analysis of
/// variance. Zero with one host, whose effect cancels, and with one GPU a host, where nothing tells the two apart.
fn common_to_host<'a>(hosts: impl Iterator<Item = &'a Sums> + Clone, all: Sums, on_host: f64) -> f64 {
    let groups = hosts.clone().count() as f64;
    if groups < 2.0 || all.count <= groups {
        return 0.0;
    }
    let mean = all.sum / all.count;
    let between: f64 = hosts.clone().map(|host| host.count * (host.sum / host.count - mean).powi(2)).sum();
    let within: f64 = hosts.map(|host| host.around_mean()).sum();
    let (between, within) = (between / (groups - 1.0), within / (all.count - groups));
    let size = (all.count - on_host) / (groups - 1.0);
    let of_host = ((between - within) / size).max(0.0);
    if of_host > 0.0 { of_host / (of_host + within) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, of hosts with two, two and one: 0.00054 between hosts, 0.0002 within one, and 1.6 GPUs a host.
    #[test]
    fn hosts_of_unequal_size_have_their_share() {
        let members: Vec<(usize, f64)> = [0.0, 0.02, 0.03, 0.05, 0.01].into_iter().enumerate().collect();
        let all = Crowd::of(&members, &[0, 0, 1, 1, 2], 0.0).all().expect("five");
        let of_host = (0.00054 - 0.0002) / 1.6;
        let share = of_host / (of_host + 0.0002);
        assert!((all.common_to_host - share).abs() < 1e-12, "{}", all.common_to_host);
        let alike = 1.0 + 0.8 * share;
        assert!((all.independent - 5.0 / alike).abs() < 1e-12, "{}", all.independent);
        assert!((all.center - 0.022).abs() < 1e-12);
        assert!((all.variance - (0.00108 + 0.0004) / (5.0 - alike)).abs() < 1e-12, "{}", all.variance);
    }

    /// The others of a GPU are all but that one, and all of them if it is none.
    #[test]
    fn the_others_of_a_gpu_are_all_without_it() {
        let hosts = [0, 0, 1, 1, 2, 0];
        let values = [0.0, 0.02, 0.03, 0.05, 0.01, 0.7];
        let members: Vec<(usize, f64)> = values[..5].iter().copied().enumerate().collect();
        let told = |of: Option<Together>| {
            of.map(|of| {
                [of.center, of.variance, of.common_to_host, of.independent].map(|it| (it * 1e9).round())
            })
        };
        let crowd = Crowd::of(&members, &hosts, 1e-4);
        for (number, value) in values.iter().enumerate() {
            let rest: Vec<_> = members.iter().copied().filter(|(other, _)| *other != number).collect();
            let gpu = GpuEffect::of(vec![*value]).expect("a value");
            let expected = told(Crowd::of(&rest, &hosts, 1e-4).all());
            assert_eq!(told(crowd.without(number, &gpu)), expected, "{number}");
        }
        let alone = Crowd::of(&members[..1], &hosts, 1e-4);
        assert_eq!(told(alone.all()), Some([0.0, 1e5, 0.0, 1e9]), "one has no spread but the least");
        assert!(alone.without(0, &GpuEffect::of(vec![0.0]).expect("a value")).is_none());
    }
}
