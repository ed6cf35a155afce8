//! A `plotters` backend that writes SVG whose colours are CSS classes, so that light and dark need
//! no second drawing.
//!
//! A colour of `plotters` is a [`Mark`]: its red channel is the number of the class. The box is
//! larger than any screen shows it (2000 × 1000) and is stretched by the view, so that one drawing
//! fits every width; strokes keep their width by `vector-effect` in the style sheet. Text is not
//! drawn here: stretched letters are ugly, so labels go out beside the drawing.

use std::convert::Infallible;
use std::fmt::Write as _;

use plotters::style::RGBColor;
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

/// Width of the box.
pub(super) const WIDTH: u32 = 2000;
/// Height of the box.
pub(super) const HEIGHT: u32 = 1000;

/// What a shape stands for: its CSS class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A line of the grid.
    Grid,
    /// The n-th series as a line.
    Line(u8),
    /// The area below the first series.
    Area,
    /// A bar.
    Bar,
    /// A bar beyond the TTL.
    BarOver,
    /// The TTL.
    Ttl,
}

impl Mark {
    /// The colour that carries the mark through `plotters`.
    pub(super) fn color(self) -> RGBColor {
        RGBColor(self.number(), 0, 0)
    }

    fn number(self) -> u8 {
        match self {
            Self::Grid => 0,
            Self::Area => 1,
            Self::Bar => 2,
            Self::BarOver => 3,
            Self::Ttl => 4,
            Self::Line(n) => 16 + n,
        }
    }

    fn class(color: BackendColor) -> String {
        match color.rgb.0 {
            0 => "grid".into(),
            1 => "area".into(),
            2 => "bar".into(),
            3 => "bar over".into(),
            4 => "ttl".into(),
            n => format!("line s{}", n.saturating_sub(16)),
        }
    }
}

/// Writes shapes to a string.
pub(super) struct Svg<'a> {
    out: &'a mut String,
}

impl<'a> Svg<'a> {
    pub(super) fn new(out: &'a mut String) -> Self {
        Self { out }
    }

    /// Writes a path; what `plotters` means to be invisible (the border of an area) is left out.
    fn path(
        &mut self,
        color: BackendColor,
        points: impl IntoIterator<Item = BackendCoord>,
        close: bool,
    ) {
        if color.alpha == 0.0 {
            return;
        }
        let class = Mark::class(color);
        let mut data = String::new();
        let mut last = None;
        for (x, y) in points {
            if last == Some((x, y)) {
                continue;
            }
            let command = if last.is_none() { 'M' } else { 'L' };
            // writing to a String cannot fail
            let _written = write!(data, "{command}{x} {y}");
            last = Some((x, y));
        }
        if data.is_empty() {
            return;
        }
        let end = if close { "Z" } else { "" };
        let _written = write!(self.out, "<path class=\"{class}\" d=\"{data}{end}\"/>");
    }
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl DrawingBackend for Svg<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (WIDTH, HEIGHT)
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        self.path(color, [(x, y), (x + 1, y)], false);
        Ok(())
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.path(style.color(), [from, to], false);
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        _fill: bool,
    ) -> Drawn {
        self.path(
            style.color(),
            [(left, top), (right, top), (right, bottom), (left, bottom)],
            true,
        );
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.path(style.color(), path, false);
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> Drawn {
        let class = Mark::class(style.color());
        let _written =
            write!(self.out, "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vertices: I,
        style: &S,
    ) -> Drawn {
        self.path(style.color(), vertices, true);
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, _: &str, _: &T, _: BackendCoord) -> Drawn {
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        _: &str,
        _: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((0, 0))
    }
}
