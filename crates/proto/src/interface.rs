//! The macro that declares the common interface of all algorithms of a family.

/// Declares a trait, and defines its methods for the enum of its implementations. Each method of the enum forwards the
/// call to the current variant. The macro passed as `$each` writes the `match`.
macro_rules! interface {
    (
        $(#[$meta:meta])*
        pub trait $trait:ident $(: $bound:ident)? for each of $any:ident by $each:ident {
            $($methods:tt)*
        }
    ) => {
        $(#[$meta])*
        pub trait $trait $(: $bound)? {
            $($methods)*
        }

        impl $any {
            $crate::interface::interface! { @each $each $($methods)* }
        }
    };

    (@each $each:ident) => {};
    (@each $each:ident
        $(#[$meta:meta])*
        fn $name:ident(&self $(, $argument:ident: $type:ty)* $(,)?) $(-> $answer:ty)?;
        $($rest:tt)*
    ) => {
        $crate::interface::interface! { @one $each [$(#[$meta])*] [&] $name ($($argument: $type),*) [$(-> $answer)?] }
        $crate::interface::interface! { @each $each $($rest)* }
    };
    (@each $each:ident
        $(#[$meta:meta])*
        fn $name:ident(&self $(, $argument:ident: $type:ty)* $(,)?) $(-> $answer:ty)? $default:block
        $($rest:tt)*
    ) => {
        $crate::interface::interface! { @one $each [$(#[$meta])*] [&] $name ($($argument: $type),*) [$(-> $answer)?] }
        $crate::interface::interface! { @each $each $($rest)* }
    };
    (@each $each:ident
        $(#[$meta:meta])*
        fn $name:ident(&mut self $(, $argument:ident: $type:ty)* $(,)?) $(-> $answer:ty)?;
        $($rest:tt)*
    ) => {
        $crate::interface::interface! { @one $each [$(#[$meta])*] [&mut] $name ($($argument: $type),*) [$(-> $answer)?] }
        $crate::interface::interface! { @each $each $($rest)* }
    };
    (@each $each:ident
        $(#[$meta:meta])*
        fn $name:ident(&mut self $(, $argument:ident: $type:ty)* $(,)?) $(-> $answer:ty)? $default:block
        $($rest:tt)*
    ) => {
        $crate::interface::interface! { @one $each [$(#[$meta])*] [&mut] $name ($($argument: $type),*) [$(-> $answer)?] }
        $crate::interface::interface! { @each $each $($rest)* }
    };

    (@one $each:ident [$(#[$meta:meta])*] [$($borrow:tt)+] $name:ident
        ($($argument:ident: $type:ty),*) [$($answer:tt)*]
    ) => {
        $(#[$meta])*
        #[inline]
        pub fn $name($($borrow)+ self $(, $argument: $type)*) $($answer)* {
            $each!(self, inner => inner.$name($($argument),*))
        }
    };
}
pub(crate) use interface;
