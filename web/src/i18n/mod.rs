//! What the pages say, in English and Simplified Chinese, and which of the two a reader gets.

mod words;
mod sentence;
mod verdict;

use leptos::prelude::{expect_context, use_context};

pub use words::Words;

/// A language of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

impl Lang {
    /// The value of `?lang=` and of the cookie.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The value of `<html lang>`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh-CN",
        }
    }

    /// Reads a code or a language tag.
    pub fn parse(text: &str) -> Option<Self> {
        let primary = text.trim().split(['-', '_', ';']).next()?;
        match primary.to_ascii_lowercase().as_str() {
            "en" => Some(Self::En),
            "zh" => Some(Self::Zh),
            _ => None,
        }
    }

    /// The words.
    pub fn words(self) -> &'static Words {
        match self {
            Self::En => &words::EN,
            Self::Zh => &words::ZH,
        }
    }
}

/// Which colours a reader gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// The value of `?theme=`, of the cookie and of `<html data-theme>`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Reads a code.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::Light, Self::Dark].into_iter().find(|theme| theme.code() == text)
    }
}

/// The side bar as a strip.
const NARROW: &str = "narrow";
/// The side bar with all pages.
const WIDE: &str = "wide";

/// What a reader chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Language.
    pub lang: Lang,
    /// Colours.
    pub theme: Theme,
    /// Whether the side bar is only a strip.
    pub narrow: bool,
}

impl Preferences {
    /// Reads a request: the query wins over the cookie, the cookie over `Accept-Language`.
    pub fn from_request(query: &str, cookie: &str, accept_language: &str) -> Self {
        let asked = |name: &str| {
            let find = |text: &str, separator: char| {
                text.split(separator)
                    .filter_map(|pair| pair.trim().split_once('='))
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| value.to_owned())
            };
            find(query, '&').or_else(|| find(cookie, ';'))
        };
        let accepted = || accept_language.split(',').find_map(Lang::parse);
        Self {
            lang: asked("lang")
                .as_deref()
                .and_then(Lang::parse)
                .or_else(accepted)
                .unwrap_or_default(),
            theme: asked("theme").as_deref().and_then(Theme::parse).unwrap_or_default(),
            narrow: asked("nav").as_deref() == Some(NARROW),
        }
    }

    /// The value of `?nav=`, of the cookie and of `<html data-nav>`.
    pub fn nav(self) -> &'static str {
        if self.narrow { NARROW } else { WIDE }
    }

    /// The cookies that a request with `?lang=`, `?theme=` or `?nav=` leaves behind.
    pub fn cookies(self, query: &str) -> Vec<String> {
        let given = |name: &str| {
            query.split('&').any(|pair| pair.split_once('=').is_some_and(|(key, _)| key == name))
        };
        let mut cookies = Vec::new();
        let chosen =
            [("lang", self.lang.code()), ("theme", self.theme.code()), ("nav", self.nav())];
        for (name, value) in chosen {
            if given(name) {
                cookies.push(format!("{name}={value}; Path=/; Max-Age=31536000; SameSite=Lax"));
            }
        }
        cookies
    }
}

/// The language of the page being rendered.
pub fn use_lang() -> Lang {
    use_context::<Preferences>().unwrap_or_default().lang
}

/// The words of the page being rendered.
pub fn use_words() -> &'static Words {
    expect_context::<Preferences>().lang.words()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_wins_over_cookie_and_header() {
        let read = |query, cookie, header| {
            let got = Preferences::from_request(query, cookie, header);
            (got.lang, got.theme)
        };
        assert_eq!(read("", "", "fr, zh-CN;q=0.8, en;q=0.5"), (Lang::Zh, Theme::Auto));
        assert_eq!(read("", "a=b; lang=en; theme=dark", "zh"), (Lang::En, Theme::Dark));
        assert_eq!(
            read("x=1&lang=zh&theme=light", "lang=en; theme=dark", ""),
            (Lang::Zh, Theme::Light)
        );
        assert_eq!(read("lang=xx&theme=", "", ""), (Lang::En, Theme::Auto));
        let chosen = Preferences { lang: Lang::Zh, ..Preferences::default() };
        assert_eq!(chosen.cookies("lang=zh").len(), 1);
        assert!(chosen.cookies("slang=zh").is_empty());
        assert!(Preferences::from_request("", "nav=narrow", "").narrow);
        assert!(!Preferences::from_request("nav=wide", "nav=narrow", "").narrow);
    }
}
